import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'

import { previewRollback, rollBackXApp, showRecord, type RollbackPreview } from '~/api/queries/xappActions'
import { DiffView } from '~/editor/lazy'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { describeError } from '~/lib/problem'
import { toast } from '~/lib/toasts'
import { ConfirmDialog } from '~/ui/Dialog'
import { Skeleton } from '~/ui/Skeleton'
import { Text } from '~/ui/Text'

interface RollbackDialogProps {
  /** Null: there is none to go back to. */
  revision: number | null
  onClose: () => void
}

/** Asks before rolling back, with what would change. */
export function RollbackDialog({ revision, onClose }: RollbackDialogProps): ReactElement | null {
  const { id, record } = useOpenXApp()
  const client = useQueryClient()
  // What is asked about is the state that the reader has seen: a change meanwhile is refused.
  const [generation, setGeneration] = useState(record.generation)
  const preview = useQuery({
    queryKey: ['xapps', 'rollback', { ...id, revision }],
    queryFn: ({ signal }) => previewRollback(id, revision ?? 0, signal),
    enabled: revision !== null,
    gcTime: 0,
  })
  const rollBack = useMutation({
    mutationFn: (to: number) => rollBackXApp(id, to, generation),
    onSuccess: (changed, to) => {
      showRecord(client, id, changed)
      toast(`Accepted: it is rolled back to revision ${to}`)
      onClose()
    },
    onError: () => setGeneration(record.generation),
  })
  if (revision === null) return null
  return (
    <ConfirmDialog
      title={`Roll back ${id.name} to revision ${revision}?`}
      isOpen
      onClose={onClose}
      confirmLabel={`Roll back to revision ${revision}`}
      onConfirm={() => rollBack.mutate(revision)}
      isPending={rollBack.isPending}
      error={rollBack.error}
      width="large"
    >
      <p>
        Chart and values of revision {revision} come into force as a new revision. The operator holds them until the
        chart or the values are changed again.
      </p>
      {preview.data !== undefined ? (
        <Changes preview={preview.data} />
      ) : preview.error !== null ? (
        <p>
          What changes is not known: <Text>{describeError(preview.error).detail}</Text>
        </p>
      ) : (
        <Skeleton lines={3} />
      )}
    </ConfirmDialog>
  )
}

function Changes({ preview }: { preview: RollbackPreview }): ReactElement {
  return (
    <>
      {preview.warnings.map((warning, index) => (
        <p key={index}>
          <Text>{warning}</Text>
        </p>
      ))}
      {preview.diff !== null && (
        <DiffView diff={preview.diff} label="What rolling back changes" empty="No object changes." />
      )}
    </>
  )
}
