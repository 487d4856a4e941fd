import { describe, expect, it } from 'vitest'

import { haveSameRows, NOTHING_PENDING, pendingAfter, pendingText, withChangedRow } from '~/lib/xapps/liveRows'

const rows = [
  { uid: 'a', health: 'Healthy' },
  { uid: 'b', health: 'Healthy' },
]

describe('rows of a live list', () => {
  it('changes a row in its place and keeps the others', () => {
    const changed = withChangedRow(rows, { uid: 'b', health: 'Degraded' })
    expect(changed.map(({ health }) => health)).toEqual(['Healthy', 'Degraded'])
    expect(changed[0]).toBe(rows[0])
  })

  it('keeps what the change leaves out', () => {
    expect(withChangedRow(rows, { uid: 'a' })[0]).toEqual({ uid: 'a', health: 'Healthy' })
  })

  it('returns the same rows for an xApp of another page', () => {
    expect(withChangedRow(rows, { uid: 'c', health: 'Degraded' })).toBe(rows)
  })
})

describe('changes that wait', () => {
  const change = (type: 'added' | 'modified' | 'deleted', uid: string) => ({ type, record: { uid } })

  it('are counted once each', () => {
    const pending = ['a', 'b', 'b'].reduce((before, uid) => pendingAfter(before, change('added', uid)), NOTHING_PENDING)
    expect(pendingText(pendingAfter(pending, change('deleted', 'x')))).toBe('2 new, 1 gone')
  })

  it('cancel each other', () => {
    const added = pendingAfter(NOTHING_PENDING, change('added', 'a'))
    expect(pendingText(pendingAfter(added, change('deleted', 'a')))).toBeNull()
    const gone = pendingAfter(NOTHING_PENDING, change('deleted', 'a'))
    expect(pendingText(pendingAfter(gone, change('added', 'a')))).toBeNull()
  })

  it('may be unknown', () => {
    expect(pendingText({ ...NOTHING_PENDING, isOutdated: true })).toBe('The list may have changed')
  })

  it('are none if the rows and their order are the same', () => {
    expect(haveSameRows(rows, [{ uid: 'a' }, { uid: 'b' }])).toBe(true)
    expect(haveSameRows(rows, [{ uid: 'b' }, { uid: 'a' }])).toBe(false)
    expect(haveSameRows(rows, [{ uid: 'a' }])).toBe(false)
    expect(haveSameRows([], [{ uid: 'a' }])).toBe(false)
  })

  it('do not contain changes of rows that stay', () => {
    expect(pendingAfter(NOTHING_PENDING, change('modified', 'a'))).toBe(NOTHING_PENDING)
  })
})
