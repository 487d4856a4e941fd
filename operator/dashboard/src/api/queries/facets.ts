import { keepPreviousData, queryOptions } from '@tanstack/react-query'

import { request } from '~/api/client'
import { queryText, type Query } from '~/lib/query'

export const FACETS = ['namespace', 'organization', 'team', 'owner', 'phase', 'health', 'source', 'attention'] as const
export type Facet = (typeof FACETS)[number]

export interface FacetValue {
  value: string
  count: number
}

export type Facets = Partial<Record<Facet, readonly FacetValue[]>>

/** So many values of a facet the gateway returns at the most. */
export const FACET_VALUES_MAX = 50

/** How many xApps have which value, of those that match the filters: the most frequent values. */
export function facetsQuery(facets: readonly Facet[], filters: Query, prefix = '') {
  return queryOptions({
    queryKey: ['xapps', 'facets', { facets, filters, prefix }],
    placeholderData: keepPreviousData,
    // Counts change without being told of.
    staleTime: 0,
    queryFn: async ({ signal }): Promise<Facets> => {
      const response = await request(`/api/xapps/facets${queryText({ ...filters, facet: facets.join(','), prefix })}`, {
        signal,
      })
      return (await response.json()) as Facets
    },
  })
}
