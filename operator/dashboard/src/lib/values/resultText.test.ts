import { expect, it } from 'vitest'

import { resultText } from './resultText'

it('shows whole numbers as helm rounds them, and marks their lines', () => {
  const { text, rounded, origins } = resultText([
    { from: 'chart', text: 'cellId: 9007199254740993\nexact: 9007199254740992\n' },
    { from: 'yours', text: 'list:\n  - {id: 9223372036854775807}\n' },
  ])
  expect(text).toContain('cellId: 9007199254740992')
  expect(text).toContain('id: 9223372036854775808')
  const [first, last] = [...rounded.entries()]
  expect(first).toEqual([1, '9007199254740993'])
  expect(last?.[1]).toBe('9223372036854775807')
  expect(rounded.size).toBe(2)
  expect(origins[0]).toEqual({ line: 1, from: 'chart', path: 'cellId' })
})
