import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { deploy, previewDeployment, type DeploymentParts, type DryRun } from '~/api/queries/deployments'
import type { XApp } from '~/api/queries/xapps'
import { deploymentForm } from '~/lib/deploy/form'
import type { DeployFields, Method } from '~/lib/deploy/form'

import type { DeployDraft } from './deployDraft'
import { NEW_REPOSITORY, repositoryPart } from './newRepository'

export interface Submission {
  draft: DeployDraft
  fields: DeployFields
  method: Method
}

export function partsOf({ draft, fields, method }: Submission): DeploymentParts {
  const isUpload = method === 'upload'
  const isNewRepository = !isUpload && draft.repository === NEW_REPOSITORY
  return {
    form: deploymentForm(fields, method),
    file: isUpload ? draft.upload?.file : undefined,
    provenance: isUpload ? (draft.provenance ?? undefined) : undefined,
    repository: isNewRepository ? repositoryPart(draft.credentials) : undefined,
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

/** Preview and Submit. A refusal leaves everything that was typed as it is. */
export function useDeployActions(onDeployed: (record: XApp, submission: Submission) => void): DeployActions {
  const queryClient = useQueryClient()
  const [error, setError] = useState<{ error: unknown; text: string } | null>(null)
  const [previewed, setPreviewed] = useState<{ result: DryRun; of: Submission } | null>(null)
  const failed = (problem: unknown, { draft }: Submission): void => setError({ error: problem, text: draft.valuesText })
  const preview = useMutation({
    mutationFn: (submission: Submission) => previewDeployment(partsOf(submission)),
    onMutate: () => setError(null),
    onSuccess: (result, of) => setPreviewed({ result, of }),
    onError: failed,
  })
  const submit = useMutation({
    mutationFn: (submission: Submission) => deploy(partsOf(submission)),
    onMutate: () => setError(null),
    onSuccess: (record, submission) => {
      void queryClient.invalidateQueries({ queryKey: ['xapps'] })
      if (submission.method === 'repository') void queryClient.invalidateQueries({ queryKey: ['repositories'] })
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
