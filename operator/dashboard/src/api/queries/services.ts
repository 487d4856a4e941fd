import { keepPreviousData, queryOptions } from '@tanstack/react-query'

import { request, type Schemas } from '~/api/client'
import type { PageOf } from '~/api/queries/xapps'
import { queryText, type Query } from '~/lib/query'

export type Service = Schemas['DiscoveredService']

/** One page of the Services of the monitored namespaces, whether they belong to an xApp or not. */
export function servicesQuery(query: Query) {
  return queryOptions({
    queryKey: ['services', 'list', query],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }): Promise<PageOf<Service>> => {
      const response = await request(`/api/discovery/services${queryText(query)}`, { signal })
      return (await response.json()) as PageOf<Service>
    },
  })
}
