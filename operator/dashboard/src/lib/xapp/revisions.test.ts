import { expect, it } from 'vitest'

import { placeOfRevision } from '~/lib/xapp/revisions'

const rows = (...numbers: number[]) => numbers.map((revision) => ({ revision }))

it('knows every revision of a history with one page', () => {
  const history = { page: 1, last_page: 1, content: rows(5, 4, 2) }
  expect([5, 4, 2].map((revision) => placeOfRevision(revision, history))).toEqual(['here', 'here', 'here'])
  expect([77, 3, 1].map((revision) => placeOfRevision(revision, history))).toEqual(['nowhere', 'nowhere', 'nowhere'])
  expect(placeOfRevision(1, { page: 1, last_page: 1, content: [] })).toBe('nowhere')
})

it('looks for others only where another page can have them', () => {
  const middle = { page: 2, last_page: 3, content: rows(8, 6) }
  expect([9, 8, 7, 5].map((revision) => placeOfRevision(revision, middle))).toEqual([
    'elsewhere',
    'here',
    'nowhere',
    'elsewhere',
  ])
  expect(placeOfRevision(9, { ...middle, page: 1 })).toBe('nowhere')
  expect(placeOfRevision(5, { ...middle, page: 3 })).toBe('nowhere')
})
