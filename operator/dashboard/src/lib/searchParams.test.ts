import { describe, expect, it } from 'vitest'

import { xappsSearch } from '~/lib/routeSearch'
import {
  flag,
  formatQuery,
  integer,
  oneOf,
  optionalInteger,
  parseQuery,
  period,
  readSearch,
  someOf,
  text,
  texts,
  writeSearch,
} from '~/lib/searchParams'

const codec = {
  search: text(),
  page: integer({ min: 1, max: 20, fallback: 1 }),
  revision: optionalInteger({ min: 1 }),
  view: oneOf(['yours', 'defaults']),
  namespace: texts(),
  phase: someOf(['Failed', 'Deployed']),
  attention: flag(),
}

it.each(['%E2%80%AEabc', '%00', 'a%0Ab', 'a%E2%80%A8b'])('drops texts with control characters: %s', (value) => {
  const { search, dropped } = read(`search=${value}&namespace=${value}&page=2`)
  expect(dropped).toEqual(['search', 'namespace'])
  expect(search).toMatchObject({ search: '', namespace: [], page: 2 })
})

function read(query: string) {
  return readSearch(codec, parseQuery(query))
}

describe('period', () => {
  it.each(['5m', '1h30m', '90', '1.5h', '2026-11-20T08:00:00Z', '2026-11-20T08:00:00.5+01:00', ''])(
    'takes %s',
    (value) => {
      expect(period().parse([value])).toBe(value)
    },
  )

  it.each(['-4', '0', '0s', 'm', '5d', 'yesterday', '2026-11-20', '5m 3s', '8785h', '1'.repeat(20)])(
    'refuses %s',
    (value) => {
      expect(period().parse([value])).toBeUndefined()
    },
  )
})

describe('readSearch', () => {
  it('gives every parameter its default', () => {
    expect(read('')).toEqual({
      search: { search: '', page: 1, revision: null, view: 'yours', namespace: [], phase: [], attention: false },
      dropped: [],
    })
  })

  it('reads what the URL has', () => {
    const { search, dropped } = read(
      '?search=a%20b&page=3&revision=7&view=defaults&namespace=x&namespace=y&phase=Failed&attention=true',
    )
    expect(dropped).toEqual([])
    expect(search).toEqual({
      search: 'a b',
      page: 3,
      revision: 7,
      view: 'defaults',
      namespace: ['x', 'y'],
      phase: ['Failed'],
      attention: true,
    })
  })

  it.each([
    ['page=abc', 'page'],
    ['page=0', 'page'],
    ['page=21', 'page'],
    ['page=1.5', 'page'],
    ['page=-1', 'page'],
    ['page=99999999999999999999', 'page'],
    ['page=1&page=2', 'page'],
    ['revision=x', 'revision'],
    ['view=Yours', 'view'],
    ['phase=Failed&phase=Broken', 'phase'],
    ['attention=1', 'attention'],
    ['search=a&search=b', 'search'],
    [`search=${'x'.repeat(2001)}`, 'search'],
    [`${'namespace=a&'.repeat(51)}${Array.from({ length: 51 }, (_, i) => `namespace=n${i}`).join('&')}`, 'namespace'],
    ['unknown=1', 'unknown'],
    ['__proto__=1', '__proto__'],
    ['constructor=1', 'constructor'],
  ])('drops %s and names it', (query, name) => {
    const { search, dropped } = read(`?${query}`)
    expect(dropped).toEqual([name])
    expect(search).toEqual(read('').search)
  })

  it('takes blank values as the default', () => {
    expect(read('?search=&namespace=&phase=')).toEqual(read(''))
  })
})

describe('writeSearch', () => {
  it('leaves defaults out, in the order of the codec', () => {
    const { search } = read('?phase=Failed&page=2')
    expect(formatQuery(writeSearch(codec, search))).toBe('?page=2&phase=Failed')
    expect(formatQuery(writeSearch(codec, read('').search))).toBe('')
  })

  it('accepts a part of the parameters', () => {
    expect(writeSearch(codec, { page: 4 })).toEqual({ page: '4' })
  })

  it.each(['?search=50%25+%26%3D%23', '?namespace=a&namespace=b&attention=true', '?revision=3&view=defaults'])(
    'gives back %s',
    (query) => {
      expect(formatQuery(writeSearch(codec, read(query).search))).toBe(query)
    },
  )

  it('shows at most 100 rows on a page of xApps', () => {
    expect(readSearch(xappsSearch, parseQuery('?per_page=100'))).toMatchObject({
      search: { per_page: 100 },
      dropped: [],
    })
    const { search, dropped } = readSearch(xappsSearch, parseQuery('?per_page=101'))
    expect([search.per_page, dropped]).toEqual([50, ['per_page']])
  })

  it('reads back what it wrote for the list of xApps', () => {
    const { search } = readSearch(xappsSearch, parseQuery('?search=kpi&phase=Failed&sort=updated&order=desc&page=7'))
    expect(readSearch(xappsSearch, writeSearch(xappsSearch, search))).toEqual({ search, dropped: [] })
  })
})
