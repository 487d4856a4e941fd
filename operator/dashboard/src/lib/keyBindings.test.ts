import { describe, expect, it } from 'vitest'

import { createKeyMatcher, keyName, type KeyBinding } from '~/lib/keyBindings'

function binding(keys: KeyBinding['keys'], inFields = false): KeyBinding {
  return { keys, run: () => undefined, inFields }
}

const BINDINGS = (['/', 'g x', 'g d', 'x', '?', 'Ctrl+k'] as const).map((keys) =>
  binding(keys, keys.startsWith('Ctrl')),
)

function typed(keys: string[], { isInField = false, gap = 100 } = {}): (string | null)[] {
  const match = createKeyMatcher()
  return keys.map((key, index) => match({ key, isInField, at: index * gap }, BINDINGS)?.keys ?? null)
}

describe('createKeyMatcher', () => {
  it('finds keys and sequences', () => {
    expect(typed(['/', 'g', 'x', 'x'])).toEqual(['/', null, 'g x', 'x'])
  })

  it('takes the second key alone when the sequence is unknown or too slow', () => {
    expect(typed(['g', '?'])).toEqual([null, '?'])
    expect(typed(['g', 'x'], { gap: 2000 })).toEqual([null, 'x'])
  })

  it('begins a sequence again', () => {
    expect(typed(['g', 'g', 'd'])).toEqual([null, null, 'g d'])
  })

  it('does nothing inside fields, but for keys that are meant for them', () => {
    expect(typed(['/', 'x', 'Ctrl+k'], { isInField: true })).toEqual([null, null, 'Ctrl+k'])
  })
})

describe('keyName', () => {
  const plain = { ctrlKey: false, metaKey: false, altKey: false }
  it.each([
    [{ ...plain, key: 'X' }, 'x'],
    [{ ...plain, key: '?' }, '?'],
    [{ ...plain, key: 'Enter', ctrlKey: true }, 'Ctrl+Enter'],
    [{ ...plain, key: 'k', metaKey: true }, 'Ctrl+k'],
    [{ ...plain, key: 'Shift' }, null],
  ])('%j is %j', (event, name) => {
    expect(keyName(event)).toBe(name)
  })
})
