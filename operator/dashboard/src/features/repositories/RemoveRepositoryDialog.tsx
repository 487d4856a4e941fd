import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'

import { removeRepository, repositoryPath, type Repository } from '~/api/queries/repositories'
import { usePermissions } from '~/api/usePermissions'
import { curlCommand, kubectl } from '~/lib/commands'
import { ifMatch } from '~/lib/ifMatch'
import { allOf, refused } from '~/lib/rights'
import { toast } from '~/lib/toasts'
import { CopyAs } from '~/ui/CopyAs'
import { ConfirmDialog } from '~/ui/Dialog'
import { Notice } from '~/ui/Notice'

import { removalText } from './removalText'

interface RemoveRepositoryDialogProps {
  repository: Repository
  /** It was removed by somebody else. */
  isGone?: boolean
  onClose: () => void
  onRemoved?: () => void
}

/** Asks before a repository is removed, and says who uses it. */
export function RemoveRepositoryDialog({
  repository,
  isGone = false,
  onClose,
  onRemoved,
}: RemoveRepositoryDialogProps): ReactElement {
  // What is asked about: the list or the page may have read another one of its name since.
  const [asked] = useState(repository)
  const { name, namespace, uid } = asked
  const isReplaced = repository.uid !== uid
  const client = useQueryClient()
  const { right } = usePermissions(namespace)
  const remove = useMutation({
    mutationFn: () => removeRepository(asked),
    onSuccess: async () => {
      toast(`Removed: ${name}`)
      onClose()
      onRemoved?.()
      await client.invalidateQueries({ queryKey: ['repositories', 'list'] })
    },
  })
  return (
    <ConfirmDialog
      title={`Remove ${name}?`}
      isOpen
      onClose={onClose}
      confirmLabel={`Remove ${name}`}
      onConfirm={() => remove.mutate()}
      isPending={remove.isPending}
      isDanger
      right={allOf(
        isGone ? refused('It was removed meanwhile') : null,
        isReplaced ? refused('Somebody else replaced this repository') : null,
        right('removeRepository'),
      )}
      error={remove.error}
      width="medium"
    >
      <p>{removalText(asked)}</p>
      {isGone && <Notice tone="warn" title="It was removed meanwhile" />}
      {isReplaced && (
        <Notice tone="warn" title="Somebody else replaced this repository">
          The one that you look at was removed, and another one of its name was saved since. Look at it first.
        </Notice>
      )}
      <div>
        <CopyAs
          size="small"
          curl={curlCommand({
            method: 'DELETE',
            path: repositoryPath(asked),
            headers: ifMatch({ uid, generation: null }),
          })}
          kubectl={kubectl(['delete', 'chartrepository', name, '-n', namespace])}
        />
      </div>
    </ConfirmDialog>
  )
}
