import { keepPreviousData, queryOptions } from '@tanstack/react-query'

import { api, read, request, type Schemas } from '~/api/client'
import { queryText, type Query } from '~/lib/query'

export type XApp = Schemas['XAppRecord']

export interface PageOf<T> {
  page: number
  total_count: number
  last_page: number
  is_last_page: boolean
  content: T[]
}

/** One page of the list. */
export function xappsQuery(query: Query) {
  return queryOptions({
    queryKey: ['xapps', 'list', query],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }): Promise<PageOf<XApp>> => {
      const response = await request(`/api/xapps${queryText(query)}`, { signal })
      return (await response.json()) as PageOf<XApp>
    },
  })
}

/** One xApp with its conditions. */
export function xappQuery(namespace: string, name: string) {
  return queryOptions({
    queryKey: ['xapps', 'one', { namespace, name }],
    queryFn: ({ signal }) =>
      read(api.GET('/api/xapps/{namespace}/{name}', { params: { path: { namespace, name } }, signal })),
  })
}
