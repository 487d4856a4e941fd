import { keepPreviousData, queryOptions } from '@tanstack/react-query'

import { api, read, request, type Schemas } from '~/api/client'
import { Problem } from '~/lib/problem'
import { apiPath, queryText, type Query } from '~/lib/query'
import { removingHere } from '~/lib/xapps/removedHere'

const STATUS_NOT_FOUND = 404

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

/**
 * Removes an xApp, and returns whether it was there: somebody else may have removed it before. Refused if the xApp of
 * that name is another one than `uid` by now.
 */
export function uninstallXApp(namespace: string, name: string, uid: string): Promise<boolean> {
  const removal = request(apiPath('api', 'deployment', 'xapp'), {
    method: 'DELETE',
    headers: { 'Content-Type': 'application/json', 'If-Match': `"${uid}"` },
    body: JSON.stringify({ name, namespace }),
  })
  return removingHere(
    uid,
    removal.then(() => true, falseIfMissing),
  )
}

function falseIfMissing(error: unknown): false {
  if (error instanceof Problem && error.status === STATUS_NOT_FOUND) return false
  throw error
}
