import { expect, it } from 'vitest'

import { assignSlots, type RowSlots } from '~/lib/rowSlots'

function slotsAfter(...pages: readonly (readonly string[])[]): [string, number][] {
  return [...pages.reduce<RowSlots>(assignSlots, new Map())]
}

it('shows another page in the elements of the one before', () => {
  expect(slotsAfter(['a', 'b', 'c'], ['d', 'e', 'f'])).toEqual([
    ['d', 0],
    ['e', 1],
    ['f', 2],
  ])
})

it('leaves a row that stays in its elements, wherever it moves', () => {
  expect(slotsAfter(['a', 'b', 'c'], ['new', 'c', 'a'])).toEqual([
    ['new', 1],
    ['c', 2],
    ['a', 0],
  ])
})

it('never gives the same elements to two rows', () => {
  expect(slotsAfter(['a', 'b', 'c', 'd'], ['d'], ['d', 'e', 'f', 'g'])).toEqual([
    ['d', 3],
    ['e', 4],
    ['f', 5],
    ['g', 6],
  ])
})
