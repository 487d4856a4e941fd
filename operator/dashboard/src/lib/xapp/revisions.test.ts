import { expect, it } from 'vitest'

import { healthRemark, placeOfRevision, revisionDoubt, whyNoTarget } from '~/lib/xapp/revisions'
import type { Revision } from '~/lib/xapp/types'

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

function past(revision: number, changes: Partial<Revision> = {}): Revision {
  return { revision, status: 'superseded', action: 'Upgrade', description: null, wasHealthy: null, ...changes }
}

it('says when a revision cannot be rolled back to any more', () => {
  const xapp = { history: [past(4, { status: 'deployed' }), past(3)], release: { revision: 4 } }
  expect(whyNoTarget(3, xapp)).toBeNull()
  expect(whyNoTarget(4, xapp)).toBe('Revision 4 is in force by now.')
  expect(whyNoTarget(2, xapp)).toContain('Revision 2 is no longer in the history')
})

it('warns of revisions that never worked', () => {
  const history = [
    past(4, { status: 'deployed' }),
    past(3, { status: 'failed' }),
    past(2, { status: 'pending-upgrade' }),
    past(1, { wasHealthy: false }),
  ]
  expect(revisionDoubt(4, history)).toBeNull()
  expect(revisionDoubt(3, history)).toContain('never worked')
  expect(revisionDoubt(2, history)).toContain('never worked')
  expect(revisionDoubt(1, history)).toContain('not healthy at any time')
})

it('warns of no revision that was healthy, or of which nobody knows', () => {
  expect(revisionDoubt(1, [past(1, { wasHealthy: true })])).toBeNull()
  expect(revisionDoubt(1, [past(1)])).toBeNull()
  expect(revisionDoubt(1, [])).toBeNull()
})

it('remarks in the history on what never was healthy', () => {
  expect(healthRemark(past(2, { wasHealthy: false }), 3, false)).toBe('never healthy')
  expect(healthRemark(past(3, { status: 'deployed', wasHealthy: false }), 3, false)).toBe('not healthy yet')
  expect(healthRemark(past(3, { status: 'deployed', wasHealthy: false }), 3, true)).toBe('never healthy')
  expect(healthRemark(past(2, { status: 'failed', wasHealthy: false }), 3, false)).toBeNull()
  expect(healthRemark(past(2, { wasHealthy: true }), 3, false)).toBeNull()
  expect(healthRemark(past(2), 3, false)).toBeNull()
})
