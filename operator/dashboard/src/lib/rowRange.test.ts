import { expect, it } from 'vitest'

import { extendRange, startRange, type RowRange } from '~/lib/rowRange'

const keys = ['a', 'b', 'c', 'd', 'e']

function extended(range: RowRange, end: string, selected = range.selected): RowRange | null {
  return extendRange(range, { keys, selected, end })
}

function rows(range: RowRange | null): string {
  return range === null ? 'none' : [...range.selected].sort().join('')
}

it('selects every row between its ends, in both directions', () => {
  const range = startRange(new Set(['a']), 'c', true)
  expect(rows(range)).toBe('ac')
  expect(rows(extended(range, 'e'))).toBe('acde')
  expect(rows(extended(range, 'b'))).toBe('abc')
})

it('gives back the rows it no longer reaches, and keeps those that were selected before', () => {
  const long = extended(startRange(new Set(['d']), 'b', true), 'e')
  expect(rows(long)).toBe('bcde')
  expect(rows(long && extended(long, 'c'))).toBe('bcd')
})

it('deselects rows when it began so', () => {
  const range = startRange(new Set(keys), 'b', false)
  expect(rows(extended(range, 'd'))).toBe('ae')
})

it('keeps what was selected otherwise meanwhile', () => {
  const range = startRange(new Set(), 'a', true)
  expect(rows(extended(range, 'b', new Set(['a', 'e'])))).toBe('abe')
})

it('ends when its first row is gone or was cleared', () => {
  const range = startRange(new Set(), 'a', true)
  expect(rows(extended(range, 'c', new Set()))).toBe('none')
  expect(rows(extendRange(range, { keys: ['b', 'c'], selected: range.selected, end: 'c' }))).toBe('none')
})
