import { useMutation, useQueryClient } from '@tanstack/react-query'
import { RotateCw } from 'lucide-react'
import { useState, type ReactElement } from 'react'

import { refreshRepository, type Repository } from '~/api/queries/repositories'
import { usePermissions } from '~/api/usePermissions'
import { refreshCommands } from '~/lib/repositories/commands'
import { allOf, refused } from '~/lib/rights'
import { toast } from '~/lib/toasts'
import { Button } from '~/ui/Button'
import { classes } from '~/ui/classes'
import { CopyAs } from '~/ui/CopyAs'
import { ButtonLink } from '~/ui/Link'
import { ErrorText } from '~/ui/ProblemPanel'
import { Waiting } from '~/ui/Waiting'

import { RemoveRepositoryDialog } from './RemoveRepositoryDialog'
import styles from './repositories.module.css'

interface RepositoryActionsProps {
  repository: Repository
  /** In a row of the list: small, and with a link to the charts. */
  isRow?: boolean
  /** It was removed by somebody else. */
  isGone?: boolean
  onRemoved?: () => void
}

/** The buttons of one repository. */
export function RepositoryActions({
  repository,
  isRow = false,
  isGone = false,
  onRemoved,
}: RepositoryActionsProps): ReactElement {
  const { name, namespace } = repository
  const client = useQueryClient()
  const { right } = usePermissions(namespace)
  const [isRemoving, setRemoving] = useState(false)
  const refresh = useMutation({
    mutationFn: () => refreshRepository(repository),
    onSuccess: () => toast(`Accepted: the operator reads ${name} again`),
    // Also after a refusal: the operator may have found the same.
    onSettled: () => client.invalidateQueries({ queryKey: ['repositories'] }),
  })
  const gone = isGone ? refused('It was removed') : null
  const size = isRow ? 'small' : 'normal'
  return (
    <div className={classes(styles.row, isRow && styles.inRow)}>
      {isRow && (
        <ButtonLink
          to="/repositories/$namespace/$name"
          params={{ namespace, name }}
          size="small"
          aria-label={`Browse ${name}`}
        >
          Browse
        </ButtonLink>
      )}
      <Button
        size={size}
        icon={<RotateCw size={16} aria-hidden />}
        right={allOf(gone, right('changeRepository'))}
        isPending={refresh.isPending}
        onPress={() => refresh.mutate()}
        label={`Refresh ${name}`}
        {...(isRow ? { tooltip: 'Refresh' } : {})}
      >
        {isRow ? undefined : 'Refresh'}
      </Button>
      <CopyRefresh repository={repository} isRow={isRow} />
      <Button
        size={size}
        variant={isRow ? 'default' : 'danger'}
        right={allOf(gone, right('removeRepository'))}
        onPress={() => setRemoving(true)}
        label={`Remove ${name}...`}
      >
        Remove...
      </Button>
      <Waiting what="Waiting for the gateway" isRunning={refresh.isPending} />
      {refresh.error !== null && <ErrorText error={refresh.error} />}
      {isRemoving && (
        <RemoveRepositoryDialog
          repository={repository}
          isGone={isGone}
          onClose={() => setRemoving(false)}
          {...(onRemoved === undefined ? {} : { onRemoved })}
        />
      )}
    </div>
  )
}

/** Refresh as a command; Remove has its own in its dialog. */
function CopyRefresh({ repository, isRow }: { repository: Repository; isRow: boolean }): ReactElement {
  const [now] = useState(() => new Date().toISOString())
  const inRow = { size: 'small', variant: 'default', iconName: `Copy as: Refresh ${repository.name}` } as const
  return <CopyAs {...refreshCommands(repository, now)} {...(isRow && inRow)} />
}
