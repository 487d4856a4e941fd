import { describe, expect, it } from 'vitest'

import {
  haveSameRows,
  nothingPending,
  pendingAfter,
  pendingText,
  pendingWith,
  startsWith,
  withChangedRow,
} from '~/lib/xapps/liveRows'

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
  const of = (...uids: string[]) => uids.map((uid) => ({ uid }))
  const none = nothingPending(rows)

  it('are rows that would be shown and rows that are shown, counted once each', () => {
    const added = ['new', 'newer', 'newer', 'on another page'].reduce(
      (before, uid) => pendingAfter(before, change('added', uid)),
      none,
    )
    expect(pendingText(added)).toBeNull()
    expect(pendingText(pendingWith(added, of('a', 'new', 'newer')))).toBe('2 new')
    const gone = pendingAfter(pendingWith(added, of('a', 'new', 'newer')), change('deleted', 'b'))
    expect(pendingText(gone)).toBe('2 new, 1 gone')
  })

  it('are none for an xApp of another page', () => {
    expect(pendingAfter(none, change('deleted', 'of another page'))).toBe(none)
    expect(pendingText(pendingWith(none, rows))).toBeNull()
  })

  it('have no number where rows move because of another page', () => {
    expect(pendingText(pendingWith(none, of('b', 'c')))).toBe('The list has changed')
  })

  it('cancel each other', () => {
    const added = pendingAfter(none, change('added', 'new'))
    expect(pendingAfter(added, change('deleted', 'new')).added.size).toBe(0)
    const gone = pendingAfter(none, change('deleted', 'a'))
    expect(pendingText(pendingAfter(gone, change('added', 'a')))).toBeNull()
  })

  it('may be unknown', () => {
    expect(pendingText({ ...none, isOutdated: true })).toBe('The list may have changed')
  })

  it('are none if the rows and their order are the same', () => {
    expect(haveSameRows(rows, of('a', 'b'))).toBe(true)
    expect(haveSameRows(rows, of('b', 'a'))).toBe(false)
    expect(haveSameRows(rows, of('a'))).toBe(false)
    expect(haveSameRows([], of('a'))).toBe(false)
  })

  it('move no row if the new ones come last', () => {
    expect(startsWith(of('a', 'b', 'c'), rows)).toBe(true)
    expect(startsWith(of('c', 'a', 'b'), rows)).toBe(false)
    expect(startsWith(of('a'), rows)).toBe(false)
  })

  it('do not contain changes of rows that stay', () => {
    expect(pendingAfter(none, change('modified', 'a'))).toBe(none)
  })
})
