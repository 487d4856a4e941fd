import { getRouteApi } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'

import { xappQuery } from '~/api/queries/xapps'
import { Panel } from '~/ui/Panel'
import { Text } from '~/ui/Text'

const route = getRouteApi('/xapps/$namespace/$name')

export function OverviewPage(): ReactElement {
  const { namespace, name } = route.useParams()
  const query = useQuery(xappQuery(namespace, name))
  return (
    <Panel title="Conditions" query={query}>
      {({ conditions }) => (
        <ul>
          {conditions.map(({ type, status, reason, message }) => (
            <li key={type}>
              <Text>{`${type} ${status} ${reason}: ${message}`}</Text>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
