import { describe, expect, it } from 'vitest'

import { activeFilters, filtersOf, isFiltered, NO_FILTERS } from '~/lib/xapps/listQuery'

const search = {
  ...NO_FILTERS,
  namespace: ['ric', 'lab'],
  health: ['Degraded' as const],
  sort: 'name' as const,
  order: 'asc' as const,
  per_page: 50,
}

describe('filters of the list', () => {
  it('are parameters of the API', () => {
    expect(filtersOf(search)).toMatchObject({ namespace: ['ric', 'lab'], health: ['Degraded'], attention: null })
  })

  it('leave out the one whose values are counted', () => {
    expect(filtersOf({ ...search, attention: true }, ['health', 'attention'])).not.toHaveProperty('health')
  })

  it('are named one by one', () => {
    expect(activeFilters(search)).toEqual([
      { name: 'namespace', value: 'ric' },
      { name: 'namespace', value: 'lab' },
    ])
  })

  it('are set or not', () => {
    expect(isFiltered(search)).toBe(true)
    expect(isFiltered({ ...search, namespace: [], health: [] })).toBe(false)
    expect(isFiltered({ ...search, namespace: [], health: [], search: 'kpi' })).toBe(true)
  })
})
