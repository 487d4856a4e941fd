import { useMutation } from '@tanstack/react-query'
import { useMemo, useState } from 'react'

import type { RepositoryCheck, Repository } from '~/api/queries/repositories'
import type { ObjectVersion } from '~/lib/ifMatch'
import { localProblem } from '~/lib/localProblem'
import { fieldErrors, type Problem } from '~/lib/problem'
import { repositoryProblems, type RepositoryFields } from '~/lib/repositories/form'
import { useDiscard } from '~/ui/useDiscard'
import { useDraft } from '~/ui/useDraft'

/** What is typed, and what it was typed on; the version is null for a new repository. */
interface RepositoryDraft {
  fields: RepositoryFields
  base: RepositoryFields
  version: ObjectVersion | null
}

interface RepositoryRequests {
  draftKey: string
  initial: RepositoryFields
  /** The version that `initial` is of; null for a new repository. It must be the same object while it is the same. */
  version?: ObjectVersion | null
  check: (fields: RepositoryFields, version: ObjectVersion | null) => Promise<RepositoryCheck>
  save: (fields: RepositoryFields, version: ObjectVersion | null) => Promise<Repository>
  onSaved: (record: Repository) => void
  /** A request was refused. */
  onRefused?: (error: unknown) => void
}

/** The state of a form of a repository: what is typed, what is wrong with it, and what the gateway answered. */
export function useRepositoryForm(requests: RepositoryRequests) {
  const { draftKey, initial, version = null, check, save, onSaved, onRefused } = requests
  const begun = useMemo((): RepositoryDraft => ({ fields: initial, base: initial, version }), [initial, version])
  const draft = useDraft(draftKey, begun, isTyped)
  // What was typed and taken back again is no reason to keep an old version.
  const current = isTyped(draft.value) ? draft.value : begun
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const [local, setLocal] = useState<Problem | null>(null)
  const { fields } = current
  const test = useMutation({
    mutationFn: (sent: RepositoryDraft) => check(sent.fields, sent.version),
    onError: onRefused,
  })
  const saving = useMutation({
    mutationFn: (sent: RepositoryDraft) => save(sent.fields, sent.version),
    onSuccess: (record) => {
      draft.discard()
      discarding.forget()
      onSaved(record)
    },
    onError: onRefused,
  })
  const error = local ?? saving.error ?? test.error
  const problems = new Map([...repositoryProblems(fields)].filter(([name]) => left.has(name)))
  for (const [name, found] of fieldErrors(error)) problems.set(name, found.map(({ message }) => message).join(' '))
  const forget = (): void => {
    test.reset()
    saving.reset()
    setLocal(null)
  }
  const checked = (run: (sent: RepositoryDraft) => void) => (): void => {
    const found = repositoryProblems(fields)
    forget()
    setLocal(found.size > 0 ? localProblem(found) : null)
    if (found.size === 0) run(current)
  }
  const isChanged = isTyped(current)
  const isReplaced = isChanged && current.version?.uid !== version?.uid
  const discarding = useDiscard({
    draftKey,
    isChanged,
    state: current,
    discard: () => {
      forget()
      draft.discard()
    },
    restore: draft.set,
  })
  return {
    fields,
    /** What was edited. */
    base: current.base,
    version: current.version,
    /** Somebody else changed the repository since, or saved another one of its name. */
    isConflict: isReplaced || (isChanged && current.version?.generation !== version?.generation),
    isReplaced,
    problems,
    error,
    isDirty: isChanged,
    isUnsent: draft.isUnsent,
    /** What the repository answered to these settings; undefined if they were not tested. */
    answer: test.data,
    isTesting: test.isPending,
    isSaving: saving.isPending,
    change: (part: Partial<RepositoryFields>): void => {
      setLocal(null)
      // An answer is about the settings that were sent.
      if (test.isSuccess) test.reset()
      draft.set((stored) => {
        const from = isTyped(stored) ? stored : begun
        return { ...from, fields: { ...from.fields, ...part } }
      })
    },
    blur: (name: string): void => setLeft((known) => new Set(known).add(name)),
    runTest: checked(test.mutate),
    runSave: checked(saving.mutate),
    /** What is typed stays, and is for the repository as it is now. */
    keepMine: (): void => {
      forget()
      draft.set({ fields, base: initial, version })
    },
    discarding,
  }
}

export type RepositoryForm = ReturnType<typeof useRepositoryForm>

function isTyped({ fields, base }: RepositoryDraft): boolean {
  return JSON.stringify(fields) !== JSON.stringify(base)
}
