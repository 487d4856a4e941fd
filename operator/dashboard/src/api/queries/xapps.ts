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

/** A page of the list, with the id of the newest change that it contains; '' if the gateway does not say it. */
export interface XAppsRead extends PageOf<XApp> {
  lastEventId: string
}

/** One page of the list. */
export function xappsQuery(query: Query) {
  return queryOptions({
    queryKey: ['xapps', 'list', query],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => readXApps(query, signal),
  })
}

export async function readXApps(query: Query, signal: AbortSignal): Promise<XAppsRead> {
  const response = await request(`/api/xapps${queryText(query)}`, { signal })
  const page = (await response.json()) as PageOf<XApp>
  return { ...page, lastEventId: response.headers.get('Last-Event-ID') ?? '' }
}

/** One xApp with its conditions. */
export function xappQuery(namespace: string, name: string) {
  return queryOptions({
    queryKey: ['xapps', 'one', { namespace, name }],
    queryFn: ({ signal }) =>
      read(api.GET('/api/xapps/{namespace}/{name}', { params: { path: { namespace, name } }, signal })),
  })
}
