import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ReactElement } from 'react'

import { removeRepository, repositoryPath, type Repository } from '~/api/queries/repositories'
import { usePermissions } from '~/api/usePermissions'
import { curlCommand, kubectl } from '~/lib/commands'
import { toast } from '~/lib/toasts'
import { CopyAs } from '~/ui/CopyAs'
import { ConfirmDialog } from '~/ui/Dialog'

interface RemoveRepositoryDialogProps {
  repository: Repository
  onClose: () => void
  onRemoved?: () => void
}

/** Asks before a repository is removed, and says who uses it. */
export function RemoveRepositoryDialog({ repository, onClose, onRemoved }: RemoveRepositoryDialogProps): ReactElement {
  const { name, namespace } = repository
  const client = useQueryClient()
  const { right } = usePermissions(namespace)
  const remove = useMutation({
    mutationFn: () => removeRepository(repository),
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
      right={right('removeRepository')}
      error={remove.error}
      width="medium"
    >
      <p>{removalText(repository)}</p>
      <div>
        <CopyAs
          size="small"
          curl={curlCommand({ method: 'DELETE', path: repositoryPath(repository) })}
          kubectl={kubectl(['delete', 'chartrepository', name, '-n', namespace])}
        />
      </div>
    </ConfirmDialog>
  )
}

function removalText({ namespace, hasCredentials, usedBy }: Repository): string {
  const what = `This removes the saved address${hasCredentials ? ' and its credentials' : ''} from ${namespace}.`
  if (usedBy === null) return `${what} Which xApps use it is not visible: needs list xapps in ${namespace}.`
  if (usedBy.count === 0) return `${what} No xApp uses it.`
  const names = usedBy.names.join(', ') + (usedBy.count > usedBy.names.length ? ', ...' : '')
  const users =
    usedBy.count === 1 ? `1 xApp uses it (${names}). It keeps` : `${usedBy.count} xApps use it (${names}). They keep`
  return `${what} ${users} running. The operator saves the address again, without credentials, when it next looks at one of them.`
}
