import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'

import { specQuery } from '~/api/queries/deployments'
import { configQuery } from '~/api/queries/values'
import { xappQuery } from '~/api/queries/xapps'
import { goneXApps } from '~/lib/goneXApps'
import { useStore } from '~/lib/useStore'
import { EmptyState } from '~/ui/EmptyState'
import { usePageTitle } from '~/ui/Page'
import { Card } from '~/ui/Panel'
import { QueryContent } from '~/ui/Panel'

import { AdoptFirst } from './AdoptFirst'
import { UpgradeForm } from './UpgradeForm'

const route = getRouteApi('/xapps/$namespace/$name/upgrade')

/** Another version or chart for one xApp, in place. */
export function UpgradePage() {
  const { namespace, name } = route.useParams()
  usePageTitle(`Upgrade ${name}`)
  const isGone = useStore(goneXApps).has(`${namespace}/${name}`)
  // The layout around this page reads it too.
  const { data: record } = useQuery({ ...xappQuery(namespace, name), enabled: !isGone })
  const isExternal = record?.source === 'labels'
  const spec = useQuery({ ...specQuery(namespace, name), enabled: !isGone && record !== undefined && !isExternal })
  const config = useQuery({ ...configQuery(namespace, name), enabled: !isGone })
  const ended = isGone ? <EmptyState title="This was not read before the xApp was uninstalled" /> : undefined
  if (isExternal) {
    return (
      <AdoptFirst namespace={namespace} releaseName={record.release.name ?? name}>
        This xApp was installed by other means, so it cannot be upgraded here. Adopt it first.
      </AdoptFirst>
    )
  }
  return (
    <QueryContent query={spec} ended={ended}>
      {(specification) => (
        <QueryContent query={config} ended={ended}>
          {(configuration) => (
            <Card title="Upgrade">
              <UpgradeForm
                key={`${namespace}/${name}`}
                specification={specification}
                configuration={configuration}
                refetch={() => {
                  void spec.refetch()
                  void config.refetch()
                }}
              />
            </Card>
          )}
        </QueryContent>
      )}
    </QueryContent>
  )
}
