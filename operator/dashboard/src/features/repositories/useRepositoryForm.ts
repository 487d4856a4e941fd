import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'

import type { RepositoryCheck, Repository } from '~/api/queries/repositories'
import { localProblem } from '~/lib/localProblem'
import { fieldErrors, type Problem } from '~/lib/problem'
import { repositoryProblems, type RepositoryFields } from '~/lib/repositories/form'
import { useDiscard } from '~/ui/useDiscard'
import { useDraft } from '~/ui/useDraft'

interface RepositoryRequests {
  draftKey: string
  initial: RepositoryFields
  check: (fields: RepositoryFields) => Promise<RepositoryCheck>
  save: (fields: RepositoryFields) => Promise<Repository>
  onSaved: (record: Repository) => void
}

/** The state of a form of a repository: what is typed, what is wrong with it, and what the gateway answered. */
export function useRepositoryForm({ draftKey, initial, check, save, onSaved }: RepositoryRequests) {
  const draft = useDraft(draftKey, initial)
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const [local, setLocal] = useState<Problem | null>(null)
  const fields = draft.value
  const test = useMutation({ mutationFn: check })
  const saving = useMutation({
    mutationFn: save,
    onSuccess: (record) => {
      draft.discard()
      discarding.forget()
      onSaved(record)
    },
  })
  const error = local ?? saving.error ?? test.error
  const problems = new Map([...repositoryProblems(fields)].filter(([name]) => left.has(name)))
  for (const [name, found] of fieldErrors(error)) problems.set(name, found.map(({ message }) => message).join(' '))
  const checked = (run: (fields: RepositoryFields) => void) => (): void => {
    const found = repositoryProblems(fields)
    test.reset()
    saving.reset()
    setLocal(found.size > 0 ? localProblem(found) : null)
    if (found.size === 0) run(fields)
  }
  const discarding = useDiscard({
    draftKey,
    isChanged: draft.isDirty,
    state: fields,
    discard: () => {
      test.reset()
      saving.reset()
      setLocal(null)
      draft.discard()
    },
    restore: draft.set,
  })
  return {
    fields,
    problems,
    error,
    isDirty: draft.isDirty,
    isUnsent: draft.isUnsent,
    /** What the repository answered to these settings; undefined if they were not tested. */
    answer: test.data,
    isTesting: test.isPending,
    isSaving: saving.isPending,
    change: (part: Partial<RepositoryFields>): void => {
      setLocal(null)
      // An answer is about the settings that were sent.
      if (test.isSuccess) test.reset()
      draft.set((current) => ({ ...current, ...part }))
    },
    blur: (name: string): void => setLeft((current) => new Set(current).add(name)),
    runTest: checked(test.mutate),
    runSave: checked(saving.mutate),
    discarding,
  }
}

export type RepositoryForm = ReturnType<typeof useRepositoryForm>
