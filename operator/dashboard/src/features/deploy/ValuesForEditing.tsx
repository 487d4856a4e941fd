import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMemo, useRef, useState } from 'react'

import { specQuery, type DryRun } from '~/api/queries/deployments'
import { aboutQuery } from '~/api/queries/session'
import { previewValues, putValues, type XAppConfiguration } from '~/api/queries/values'
import { xappQuery } from '~/api/queries/xapps'
import { useRenderLimit } from '~/api/useFetchLimit'
import { usePermissions } from '~/api/usePermissions'
import { drafts, isTextChanged, setDraft } from '~/lib/drafts'
import { goneXApps, rightUntilGone } from '~/lib/goneXApps'
import { Problem } from '~/lib/problem'
import { allOf, ALLOWED, refused } from '~/lib/rights'
import { toast } from '~/lib/toasts'
import { useStore } from '~/lib/useStore'
import { upgradeDraftKey, valuesDraftKey } from '~/lib/xapp/typed'
import type { ChartFacts } from '~/lib/values/checkValues'
import { Button } from '~/ui/Button'
import { classes } from '~/ui/classes'
import { CopyAs } from '~/ui/CopyAs'
import { DiscardButton, UndoDiscard } from '~/ui/DiscardButton'
import { FormErrors } from '~/ui/FormErrors'
import { LeaveGuard } from '~/ui/LeaveGuard'
import { useDiscard } from '~/ui/useDiscard'
import { useDraft } from '~/ui/useDraft'

import { ConflictBar, conflictTitle, isConflictProblem } from '~/editor/ConflictBar'
import { valuesCurl, valuesKubectl } from './copyCommands'
import styles from './deploy.module.css'
import { HeldNotice } from './HeldNotice'
import { PreviewPanel } from './PreviewPanel'
import { Waiting } from '~/ui/Waiting'
import { unseenOfConfiguration } from './unseenOfChart'
import { useMainKey } from './useMainKey'
import { newUpgradeDraft, type UpgradeDraft } from './useUpgradeForm'
import { ValuesEditor, type ValuesEditorHandle } from './ValuesEditor'

const route = getRouteApi('/xapps/$namespace/$name/values')

const VALUES_BYTES_MAX = 1024 * 1024

/** What is typed, and what it was typed on. */
interface ValuesDraft {
  text: string
  base: string
  uid: string
  generation: number
  revision: number | null
}

interface ValuesForEditingProps {
  config: XAppConfiguration
  uid: string
  generation: number
  refetch: () => void
}

export function ValuesForEditing({ config, uid, generation, refetch }: ValuesForEditingProps) {
  const { namespace, name } = route.useParams()
  const { view } = route.useSearch()
  const setSearch = route.useNavigate()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const editor = useRef<ValuesEditorHandle>(null)
  const [isDone, setDone] = useState(false)
  const record = useQuery(xappQuery(namespace, name)).data
  const renderSeconds = useRenderLimit()
  const { limits } = useQuery(aboutQuery).data ?? {}
  const { right } = usePermissions(namespace, name)
  const goneAt = useStore(goneXApps).get(`${namespace}/${name}`)

  const theirs = config.layers.find(({ from }) => from === 'yours')?.text ?? ''
  const initial = useMemo(
    (): ValuesDraft => ({ text: theirs, base: theirs, uid, generation, revision: record?.release.revision ?? null }),
    [theirs, uid, generation, record?.release.revision],
  )
  const draftKey = valuesDraftKey(namespace, name)
  const draft = useDraft(draftKey, initial, isTextChanged)
  const { text, base, revision } = draft.value
  const held = record?.heldRevision ?? null
  const isChanged = text !== base
  // Another change of the spec, such as an owner, is no conflict: the values are what was edited.
  const isReplaced = draft.isDirty && uid !== draft.value.uid
  const isConflict = isReplaced || (draft.isDirty && theirs !== base)
  const edited = { namespace, name, uid: draft.value.uid, generation: isConflict ? draft.value.generation : generation }

  const snapshotOf = (of: string): string => JSON.stringify([edited, of])

  const facts = useFacts(config)
  const layersBelow = useMemo(() => config.layers.filter(({ from }) => from !== 'yours'), [config.layers])
  const [previewed, setPreviewed] = useState<{ result: DryRun; of: string } | null>(null)
  const [refusal, setRefusal] = useState<{ error: unknown; text: string } | null>(null)
  const failed = (error: unknown, sent: string): void => {
    setRefusal({ error, text: sent })
    if (isConflictProblem(error)) refetch()
  }
  const preview = useMutation({
    mutationFn: (sent: string) => previewValues(edited, sent),
    onMutate: () => setRefusal(null),
    onSuccess: (result, sent) => setPreviewed({ result, of: snapshotOf(sent) }),
    onError: failed,
  })
  const upgrade = useMutation({
    mutationFn: (sent: string) => putValues(edited, sent),
    onMutate: () => setRefusal(null),
    onSuccess: (answer) => {
      setDone(true)
      draft.discard()
      toast(`Accepted: ${answer.name}`)
      void queryClient.invalidateQueries({ queryKey: ['xapps'] })
      void navigate({ to: '/xapps/$namespace/$name', params: { namespace, name }, ignoreBlocker: true })
    },
    onError: failed,
  })
  /** "Adopt" is a field of the page Upgrade: what is typed goes along. */
  const adopt = async (): Promise<void> => {
    const key = upgradeDraftKey(namespace, name)
    const before = drafts.get().get(key) as UpgradeDraft | undefined
    const begun = before ?? {
      ...newUpgradeDraft(await queryClient.query({ ...specQuery(namespace, name), staleTime: 0 }), base),
      uid: edited.uid,
      generation: edited.generation,
    }
    setDraft(key, { ...begun, typed: { ...begun.typed, adopt: true }, valuesText: text })
    draft.discard()
    const search = { adopt: true }
    await navigate({ to: '/xapps/$namespace/$name/upgrade', params: { namespace, name }, search, ignoreBlocker: true })
  }
  const isFresh = !isConflict && previewed?.of === snapshotOf(text)
  const isBusy = preview.isPending || upgrade.isPending
  const change = (next: string): void => draft.set((current) => ({ ...current, text: next }))
  const { discard, undo } = useDiscard({
    draftKey,
    isChanged,
    state: draft.value,
    discard: () => {
      draft.discard()
      setPreviewed(null)
      setRefusal(null)
    },
    restore: draft.set,
  })
  const canWrite = allOf(
    rightUntilGone(goneAt),
    right('configure'),
    isConflict ? refused(`${conflictTitle(isReplaced)}: decide first whose values to take`) : ALLOWED,
    isChanged || isDone ? ALLOWED : refused('You have not changed anything'),
  )
  const main = (): void => {
    if (!canWrite.allowed || isBusy) return
    if (isFresh) upgrade.mutate(text)
    else preview.mutate(text)
  }
  useMainKey(main)
  return (
    <div className={styles.stack}>
      <LeaveGuard when={isChanged && !isDone} />
      <FormErrors
        error={refusal?.error ?? null}
        fields={{ values: 'Values' }}
        onFocusField={(field, line) => editor.current?.showField(field, line) ?? false}
      />
      {isConflict && (
        <ConflictBar
          base={base}
          theirs={theirs}
          mine={text}
          isReplaced={isReplaced}
          at={record === undefined ? null : isReplaced ? record.createdAt : record.updatedAt}
          isRefused={isConflictProblem(refusal?.error) && refusal?.text === text}
          onTakeTheirs={discard}
          onKeepMine={() => {
            setRefusal(null)
            draft.set((current) => ({
              ...current,
              base: theirs,
              uid,
              generation,
              revision: record?.release.revision ?? null,
            }))
          }}
        />
      )}
      {held === null ? (
        <p className={styles.muted}>{revision === null ? 'Not deployed yet' : `Based on revision ${revision}`}</p>
      ) : (
        <HeldNotice
          key={held}
          namespace={namespace}
          name={name}
          revision={held}
          text={text}
          onChange={change}
          right={right('configure')}
        />
      )}
      <ValuesEditor
        ref={editor}
        text={text}
        onChange={change}
        view={view}
        onView={(next) => void setSearch({ search: { view: next }, replace: true })}
        chart={facts}
        unseen={unseenOfConfiguration(config, right('release'))}
        layersBelow={layersBelow}
        refusal={refusal?.error instanceof Problem ? { errors: refusal.error.errors, text: refusal.text } : null}
        valuesBytesMax={limits?.valuesBytes ?? VALUES_BYTES_MAX}
        isReadOnly={!right('configure').allowed && !isChanged}
      />
      {previewed !== null && (
        <PreviewPanel
          preview={previewed.result}
          isStale={!isFresh}
          isConflict={isConflict}
          onAdopt={() => void adopt().catch((error: unknown) => failed(error, text))}
        />
      )}
      <div className={classes(styles.bar, styles.barInCard)}>
        <CopyAs curl={valuesCurl(edited, text)} kubectl={valuesKubectl(edited, text)} />
        <DiscardButton isChanged={isChanged} isBusy={isBusy} onDiscard={discard}>
          Discard
        </DiscardButton>
        <Button
          variant={isFresh ? 'default' : 'primary'}
          right={canWrite}
          isPending={preview.isPending}
          onPress={() => preview.mutate(text)}
        >
          Preview
        </Button>
        <Button
          variant={isFresh ? 'primary' : 'default'}
          right={allOf(canWrite, isFresh ? ALLOWED : refused('Look at the preview first'))}
          isPending={upgrade.isPending}
          onPress={() => upgrade.mutate(text)}
          tooltip="Ctrl+Enter"
        >
          Upgrade
        </Button>
        <UndoDiscard undo={undo} />
        <Waiting what="The gateway renders the chart" isRunning={isBusy} atMost={renderSeconds} />
      </div>
    </div>
  )
}

function useFacts(config: XAppConfiguration): ChartFacts {
  return useMemo(
    () => ({
      defaultsText: config.layers.find(({ from }) => from === 'chart')?.text ?? '',
      schemaText: config.schema === null ? null : JSON.stringify(config.schema),
      dependencies: [],
    }),
    [config],
  )
}
