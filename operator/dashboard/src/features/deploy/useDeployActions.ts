import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'

import { deploy, previewDeployment, type DeploymentParts, type DryRun } from '~/api/queries/deployments'
import { changeRepository, saveRepository } from '~/api/queries/repositories'
import type { XApp } from '~/api/queries/xapps'
import { deploymentForm } from '~/lib/deploy/form'
import type { DeployFields, Method } from '~/lib/deploy/form'

import type { DeployDraft } from './deployDraft'
import { inDeployForm, NEW_REPOSITORY, newRepository } from './newRepository'

export interface Submission {
  draft: DeployDraft
  fields: DeployFields
  method: Method
}

export function partsOf({ draft, fields, method }: Submission): DeploymentParts {
  const isUpload = method === 'upload'
  return {
    form: deploymentForm(fields, method),
    file: isUpload ? draft.upload?.file : undefined,
    provenance: isUpload ? (draft.provenance ?? undefined) : undefined,
    values: draft.valuesText.trim() === '' ? undefined : draft.valuesText,
  }
}

export interface DeployActions {
  preview: DryRun | null
  /** What the preview was made of; another object means that something was edited since. */
  previewOf: Submission | null
  error: unknown
  /** The text of the values that was refused. */
  refusedText: string
  isPreviewing: boolean
  isSubmitting: boolean
  runPreview: (submission: Submission) => void
  runSubmit: (submission: Submission) => void
  forgetError: () => void
}

const NONE_SAVED = { username: null, password: null, token: null }

/** Preview and Submit. A refusal leaves everything that was typed as it is. */
export function useDeployActions(onDeployed: (record: XApp, submission: Submission) => void): DeployActions {
  const queryClient = useQueryClient()
  const [error, setError] = useState<{ error: unknown; text: string } | null>(null)
  const [previewed, setPreviewed] = useState<{ result: DryRun; of: Submission } | null>(null)
  const savedRepository = useRef({ id: '', body: '' })
  // A new repository with credentials is saved first: the deployment itself carries none.
  const prepare = async ({ draft, fields, method }: Submission): Promise<void> => {
    if (method !== 'repository' || draft.repository !== NEW_REPOSITORY || draft.credentials.kind === 'none') return
    const { name, namespace, ...settings } = newRepository(fields, draft.credentials)
    const saved = { id: `${namespace}/${name}`, body: JSON.stringify(settings) }
    const before = savedRepository.current
    if (before.id === saved.id && before.body === saved.body) return
    try {
      // Credentials that were refused are corrected in the repository that this page has saved.
      if (before.id === saved.id) await changeRepository({ namespace, name }, { ...NONE_SAVED, ...settings })
      else await saveRepository({ name, namespace, ...settings })
    } catch (problem) {
      throw inDeployForm(problem)
    }
    savedRepository.current = saved
    await queryClient.invalidateQueries({ queryKey: ['repositories'] })
  }
  const failed = (problem: unknown, { draft }: Submission): void => setError({ error: problem, text: draft.valuesText })
  const preview = useMutation({
    mutationFn: async (submission: Submission) => {
      await prepare(submission)
      return previewDeployment(partsOf(submission))
    },
    onMutate: () => setError(null),
    onSuccess: (result, of) => setPreviewed({ result, of }),
    onError: failed,
  })
  const submit = useMutation({
    mutationFn: async (submission: Submission) => {
      await prepare(submission)
      return deploy(partsOf(submission))
    },
    onMutate: () => setError(null),
    onSuccess: (record, submission) => {
      void queryClient.invalidateQueries({ queryKey: ['xapps'] })
      onDeployed(record, submission)
    },
    onError: failed,
  })
  return {
    preview: previewed?.result ?? null,
    previewOf: previewed?.of ?? null,
    error: error?.error ?? null,
    refusedText: error?.text ?? '',
    isPreviewing: preview.isPending,
    isSubmitting: submit.isPending,
    runPreview: preview.mutate,
    runSubmit: submit.mutate,
    forgetError: () => setError(null),
  }
}
