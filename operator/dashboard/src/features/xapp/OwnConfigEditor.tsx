import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'

import { OWN_API_MAX_BYTES, ownConfigQuery, putOwnConfig, readOwnConfig } from '~/api/queries/ownApi'
import { xappQuery } from '~/api/queries/xapps'
import { CompareView, TextEditor } from '~/editor/lazy'
import { useValuesCheck } from '~/editor/useValuesCheck'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { isTextChanged } from '~/lib/drafts'
import { formatJson, jsonProblem } from '~/lib/formatJson'
import { readTextFile } from '~/lib/readTextFile'
import { allOf, refused } from '~/lib/rights'
import { toast } from '~/lib/toasts'
import { Button } from '~/ui/Button'
import { CopyAs } from '~/ui/CopyAs'
import { UndoDiscard } from '~/ui/DiscardButton'
import { LeaveGuard } from '~/ui/LeaveGuard'
import { Notice } from '~/ui/Notice'
import { ErrorText } from '~/ui/ProblemPanel'
import { Text } from '~/ui/Text'
import { useDiscard } from '~/ui/useDiscard'
import { useDraft } from '~/ui/useDraft'
import { Waiting } from '~/ui/Waiting'

import { configCurl } from './configCommands'
import styles from './OwnApiPage.module.css'

interface Draft {
  text: string
  /** What the xApp had when the edit began. */
  base: string
  /** Of that xApp. */
  uid: string
}

interface OwnConfigEditorProps {
  base: string
  /** What the xApp has now. */
  current: string
  schemaText: string | null
}

/** Edits the run-time configuration. What somebody else has changed meanwhile is never overwritten unasked. */
export function OwnConfigEditor({ base, current, schemaText }: OwnConfigEditorProps): ReactElement {
  const { id, record, change: rightToChange } = useOpenXApp()
  const client = useQueryClient()
  const draftKey = `own-api:${id.namespace}/${id.name}`
  const draft = useDraft<Draft | null>(draftKey, null, isTextChanged)
  const text = draft.value?.text ?? current
  const [refusal, setRefusal] = useState<string | null>(null)
  const isDirty = isTextChanged(draft.value)
  const { discard, undo, forget } = useDiscard({
    draftKey,
    isChanged: isDirty,
    state: draft.value,
    discard: draft.discard,
    restore: draft.set,
  })
  const isReplaced = isDirty && draft.value?.uid !== record.uid
  const isChangedByOthers = isReplaced || (isDirty && draft.value?.base !== current)
  const check = useValuesCheck(text, { defaultsText: '', schemaText, dependencies: [] })
  // The keys of a configuration are those of its schema: only what the schema refuses counts.
  const problems = check.problems.filter(({ severity }) => severity === 'error')
  const syntax = jsonProblem(text)
  const save = useMutation({
    mutationFn: async (wanted: Draft): Promise<'saved' | 'changed'> => {
      // The API of an xApp knows no If-Match: what it is now is read just before.
      const { uid } = await client.query({ ...xappQuery(id.namespace, id.name), staleTime: 0 })
      const now = formatJson(await readOwnConfig(base))
      if (uid !== wanted.uid || now !== wanted.base) return 'changed'
      await putOwnConfig(base, wanted.text)
      return 'saved'
    },
    onSuccess: async (outcome) => {
      if (outcome === 'saved') {
        draft.discard()
        forget()
        toast('Accepted: the xApp has the new configuration')
      }
      await client.invalidateQueries({ queryKey: ownConfigQuery(id, base).queryKey })
    },
  })
  const right = allOf(
    rightToChange('proxyUpdate'),
    isDirty ? null : refused('Nothing was changed'),
    syntax === null ? null : refused(`This is no JSON: ${syntax}`),
    new Blob([text]).size > OWN_API_MAX_BYTES ? refused('The text is larger than 1 MiB') : null,
    isReplaced ? refused('Somebody else replaced this xApp: take theirs or keep yours first') : null,
    isChangedByOthers ? refused('It was changed by somebody else: take theirs or keep yours first') : null,
  )
  const change = (next: string): void => draft.set({ base: current, uid: record.uid, ...draft.value, text: next })
  const load = async (file: File): Promise<void> => {
    const found = await readTextFile(file, { what: 'Configurations', bytesMax: OWN_API_MAX_BYTES })
    setRefusal('refused' in found ? found.refused : null)
    if ('text' in found) change(found.text)
  }
  const submit = (): void => {
    if (right.allowed && draft.value !== null) save.mutate(draft.value)
  }
  return (
    <>
      <LeaveGuard when={isDirty} />
      {isChangedByOthers && (
        <ChangedByOthers
          isReplaced={isReplaced}
          mine={text}
          theirs={current}
          onTake={discard}
          onKeep={() => draft.set({ text, base: current, uid: record.uid })}
        />
      )}
      <TextEditor
        label="Run-time configuration"
        value={text}
        language="json"
        problems={problems}
        onChange={change}
        onSubmit={submit}
        onFile={(file) => void load(file)}
      />
      {refusal !== null && (
        <p className={styles.refusal} role="alert">
          {refusal}
        </p>
      )}
      {problems.length > 0 && (
        <ul className={styles.problems}>
          {problems.slice(0, 10).map(({ line, message }, index) => (
            <li key={index}>
              Line {line}: <Text>{message}</Text>
            </li>
          ))}
        </ul>
      )}
      {check.unchecked !== null && <p className={styles.remark}>{check.unchecked}</p>}
      {save.error !== null && <ErrorText error={save.error} />}
      <div className={styles.buttons}>
        <CopyAs
          curl={configCurl(base, text)}
          kubectl={{ none: 'kubectl cannot reach the API of an xApp with your token: use curl' }}
        />
        <Button right={isDirty ? undefined : refused('Nothing was changed')} onPress={discard}>
          Discard
        </Button>
        <Button variant="primary" right={right} isPending={save.isPending} onPress={submit}>
          Save
        </Button>
        <UndoDiscard undo={undo} />
        <Waiting what="Waiting for the xApp" isRunning={save.isPending} />
        <span className={styles.remark}>Whether it lasts beyond a restart depends on the xApp.</span>
      </div>
    </>
  )
}

interface ChangedByOthersProps {
  /** It is another xApp of the same name. */
  isReplaced: boolean
  mine: string
  theirs: string
  onTake: () => void
  onKeep: () => void
}

function ChangedByOthers({ isReplaced, mine, theirs, onTake, onKeep }: ChangedByOthersProps): ReactElement {
  const [compares, setCompares] = useState(false)
  return (
    <>
      <Notice
        tone="warn"
        title={isReplaced ? 'Somebody else replaced this xApp' : 'Changed by somebody else meanwhile'}
        isLive
        actions={
          <>
            <Button size="small" aria-expanded={compares} onPress={() => setCompares(!compares)}>
              Compare
            </Button>
            <Button size="small" onPress={onTake}>
              Take theirs
            </Button>
            <Button size="small" onPress={onKeep}>
              Keep mine
            </Button>
          </>
        }
      />
      {compares && <CompareView before={theirs} after={mine} labels={['Theirs', 'Mine']} language="json" />}
    </>
  )
}
