import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'

import { specQuery } from '~/api/queries/deployments'
import { configQuery } from '~/api/queries/values'
import { usePageTitle } from '~/ui/Page'
import { Card } from '~/ui/Panel'
import { QueryContent } from '~/ui/Panel'

import { UpgradeForm } from './UpgradeForm'

const route = getRouteApi('/xapps/$namespace/$name/upgrade')

/** Another version or chart for one xApp, in place. */
export function UpgradePage() {
  const { namespace, name } = route.useParams()
  usePageTitle(`Upgrade ${name}`)
  const spec = useQuery(specQuery(namespace, name))
  const config = useQuery(configQuery(namespace, name))
  return (
    <QueryContent query={spec}>
      {(specification) => (
        <QueryContent query={config}>
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
