import type { ReactElement } from 'react'

import { usePermissions } from '~/api/usePermissions'
import { Button } from '~/ui/Button'
import { EmptyState } from '~/ui/EmptyState'
import { NoneVisible } from '~/ui/NoneVisible'

import { DeployLink } from './DeployLink'

/** What stands in place of an empty list. */
export function NoXApps({ isFiltered: isFound, onClear }: { isFiltered: boolean; onClear: () => void }): ReactElement {
  if (isFound)
    return (
      <EmptyState title="No xApp found" actions={<Button onPress={onClear}>Clear filters</Button>}>
        No xApp matches the search and all filters.
      </EmptyState>
    )
  return <NoneYet />
}

/** Who may list xApps only in some namespaces, or in none, is told so: there may be others. */
function NoneYet(): ReactElement | null {
  const { right, isLoading } = usePermissions()
  if (isLoading) return null
  return (
    <NoneVisible
      title="No xApps that you may see"
      right={right('list')}
      noneYet={<EmptyState title="No xApps yet" actions={<DeployLink>Deploy the first xApp</DeployLink>} />}
      actions={<DeployLink size="small">Deploy the first xApp</DeployLink>}
    >
      You see xApps of namespaces in which you may list them.
    </NoneVisible>
  )
}
