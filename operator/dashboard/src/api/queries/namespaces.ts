import { keepPreviousData, queryOptions } from '@tanstack/react-query'

import { request } from '~/api/client'
import type { PageOf } from '~/api/queries/xapps'
import { queryText } from '~/lib/query'
import type { Action } from '~/lib/rights'

export interface NamespaceChoice {
  name: string
  /** Null: the caller may not know. */
  exists: boolean | null
  allowed: boolean
  /** Number of xApps that the caller may list there; null: none may be listed. */
  xapps: number | null
}

/** Namespaces in which the caller may do something, those that match first. */
export function namespacesQuery(search: string, action: Action) {
  return queryOptions({
    queryKey: ['permissions', 'namespaces', { search, action }],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }): Promise<PageOf<NamespaceChoice>> => {
      const response = await request(`/api/namespaces${queryText({ search, action, per_page: 50 })}`, { signal })
      return (await response.json()) as PageOf<NamespaceChoice>
    },
  })
}
