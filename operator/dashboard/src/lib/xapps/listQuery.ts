/** The list of xApps: what its URL asks for, as parameters of the API. */

import type { Query } from '~/lib/query'
import type { XAppsFilters, XAppsSearch } from '~/lib/routeSearch'

type FilterName = 'attention' | 'namespace' | 'organization' | 'team' | 'owner' | 'phase' | 'health' | 'source'

export const NO_FILTERS: Pick<XAppsSearch, FilterName | 'search' | 'page'> = {
  search: '',
  attention: false,
  namespace: [],
  organization: [],
  team: [],
  owner: [],
  phase: [],
  health: [],
  source: [],
  page: 1,
}

/** Returns the filters alone: what shows only them is not drawn again for another page or order. */
export function filterSearch(search: XAppsSearch): XAppsFilters {
  const { attention, namespace, organization, team, owner, phase, health, source } = search
  return { search: search.search, attention, namespace, organization, team, owner, phase, health, source }
}

/** Returns the filters of the list, without one of them if its own values are to be counted. */
export function filtersOf(search: XAppsFilters, without: readonly FilterName[] = []): Query {
  const { namespace, organization, team, owner, phase, health, source } = search
  const all = { attention: search.attention ? true : null, namespace, organization, team, owner, phase, health, source }
  const kept = Object.entries(all).filter(([name]) => !without.some((left) => left === name))
  return { search: search.search, ...Object.fromEntries(kept) }
}

export interface ActiveFilter {
  name: 'namespace' | 'organization' | 'team' | 'owner' | 'phase' | 'source'
  value: string
}

/** Returns each filter that is set, with its value. */
export function activeFilters(search: XAppsFilters): readonly ActiveFilter[] {
  const { namespace, organization, team, owner, phase, source } = search
  return Object.entries({ namespace, organization, team, owner, phase, source }).flatMap(([name, values]) =>
    values.map((value) => ({ name: name as ActiveFilter['name'], value })),
  )
}

/** Returns the change of the URL that takes one value out of a filter. */
export function withoutFilter(search: XAppsFilters, { name, value }: ActiveFilter): Partial<XAppsSearch> {
  return { [name]: search[name].filter((each) => each !== value) }
}

export function isFiltered(search: XAppsFilters): boolean {
  return search.search !== '' || search.attention || search.health.length > 0 || activeFilters(search).length > 0
}
