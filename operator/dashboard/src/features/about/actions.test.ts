import { expect, it } from 'vitest'

import { inOrder, wordsOf } from '~/features/about/actions'
import { ACTIONS } from '~/lib/rights'

const rightTo = (action: string) => ({ action, allowed: true, missing: [] })

it('names every action in words, by what it is about', () => {
  const rows = inOrder(ACTIONS.toReversed().map(rightTo)).map(({ action }) => wordsOf(action))
  expect(rows.filter(({ about, text }) => about === 'Other' || !text.includes(' '))).toEqual([])
  const abouts = rows.map(({ about }) => about)
  // What is about the same thing stands together.
  expect(abouts.filter((about, index) => about !== abouts[index - 1])).toEqual([...new Set(abouts)])
})

it('shows actions of a newer gateway last, by their names', () => {
  expect(inOrder(['teleport', 'constructor', 'deleteChart'].map(rightTo)).map(({ action }) => action)).toEqual([
    'deleteChart',
    'teleport',
    'constructor',
  ])
  expect(wordsOf('constructor')).toEqual({ about: 'Other', text: 'constructor' })
})
