import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'

import {
  previewRollback,
  readAgainAfter,
  rollBackXApp,
  showRecord,
  type RollbackPreview,
} from '~/api/queries/xappActions'
import { xappQuery } from '~/api/queries/xapps'
import { DiffView } from '~/editor/lazy'
import { lostReason, useOpenXApp } from '~/features/xapp/openXApp'
import { describeError } from '~/lib/problem'
import { allOf, refused } from '~/lib/rights'
import { toast } from '~/lib/toasts'
import { rollbackCommands } from '~/lib/xapp/rollbackCommands'
import { revisionDoubt, whyNoTarget } from '~/lib/xapp/revisions'
import { CopyAs } from '~/ui/CopyAs'
import { ConfirmDialog } from '~/ui/Dialog'
import { Notice } from '~/ui/Notice'
import { Skeleton } from '~/ui/Skeleton'
import { Text } from '~/ui/Text'

interface RollbackDialogProps {
  /** The one that it was opened for, whatever happens meanwhile. */
  revision: number
  onClose: () => void
}

/** Asks before rolling back, with what would change. */
export function RollbackDialog({ revision, onClose }: RollbackDialogProps): ReactElement {
  const { id, record, goneAt, change } = useOpenXApp()
  const client = useQueryClient()
  // What is asked about is the state that the reader has seen: a change meanwhile is refused.
  const [{ uid, generation }, setSeen] = useState({ uid: record.uid, generation: record.generation })
  const [openedAt] = useState(() => new Date().toISOString())
  const lost = lostReason(record, uid, goneAt) ?? whyNoTarget(revision, record)
  const doubt = revisionDoubt(revision, record.history)
  const preview = useQuery({
    // Another revision in force is another difference.
    queryKey: ['xapps', 'rollback', { ...id, uid, revision, from: record.release.revision }],
    queryFn: ({ signal }) => previewRollback(id, uid, revision, signal),
    placeholderData: keepPreviousData,
    enabled: lost === null,
    gcTime: 0,
  })
  const rollBack = useMutation({
    mutationFn: () => rollBackXApp(id, { uid, generation }, revision),
    onSuccess: (changed) => {
      showRecord(client, id, changed)
      toast(`Accepted: it is rolled back to revision ${revision}`)
      onClose()
    },
    onError: async (error) => {
      if (!(await readAgainAfter(client, id, error))) return
      // The reader has been told of the change, and may confirm again.
      const now = client.getQueryData(xappQuery(id.namespace, id.name).queryKey)
      if (now?.uid === uid) setSeen({ uid, generation: now.generation })
    },
  })
  return (
    <ConfirmDialog
      title={`Roll back ${id.name} to revision ${revision}?`}
      isOpen
      onClose={onClose}
      confirmLabel={`Roll back to revision ${revision}`}
      onConfirm={() => rollBack.mutate()}
      isPending={rollBack.isPending}
      right={allOf(lost === null ? null : refused(lost), change('rollback'))}
      error={rollBack.error}
      width="large"
    >
      {lost !== null ? (
        <Notice tone="warn" isLive>
          {lost}
        </Notice>
      ) : (
        doubt !== null && <Notice tone="warn" title={doubt} />
      )}
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
        lost === null && <Skeleton lines={3} />
      )}
      {lost === null && (
        <div>
          <CopyAs size="small" {...rollbackCommands({ ...id, uid }, revision, openedAt)} />
        </div>
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
