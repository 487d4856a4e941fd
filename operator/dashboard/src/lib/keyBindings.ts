/** The keys of all open pages. Components register them with `useKeyBindings`; one listener runs them. */

import type { MappedKeys } from '~/lib/keyMap'
import { createStore } from '~/lib/store'

export interface KeyBinding {
  /** One key or a sequence, such as "/", "g x", "Ctrl+k", "Ctrl+Enter". Letters are lower case. */
  keys: MappedKeys
  run: () => void
  /** Also while a field has the focus. */
  inFields?: boolean
}

export const keyBindings = createStore<readonly KeyBinding[]>([])

export function registerKeys(added: readonly KeyBinding[]): () => void {
  // The last one wins: a dialog or a page that opens later.
  keyBindings.set((current) => [...added, ...current])
  return () => keyBindings.set((current) => current.filter((binding) => !added.includes(binding)))
}

const SEQUENCE_MILLISECONDS = 1000

export interface KeyStroke {
  key: string
  isInField: boolean
  at: number
}

/** Returns the name of a key as bindings write it, or null for a modifier alone. */
export function keyName(event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>): string | null {
  if (['Control', 'Shift', 'Alt', 'Meta', 'AltGraph'].includes(event.key)) return null
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key
  const modifiers = [event.ctrlKey || event.metaKey ? 'Ctrl+' : '', event.altKey ? 'Alt+' : ''].join('')
  return `${modifiers}${key}`
}

/** Finds the binding that strokes end in, remembering the beginning of sequences. */
export function createKeyMatcher(): (stroke: KeyStroke, bindings: readonly KeyBinding[]) => KeyBinding | null {
  let pending = ''
  let pendingAt = 0
  return ({ key, isInField, at }, bindings) => {
    const usable = isInField ? bindings.filter((binding) => binding.inFields === true) : bindings
    const begun = pending !== '' && at - pendingAt <= SEQUENCE_MILLISECONDS ? `${pending} ${key}` : key
    pending = ''
    for (const keys of new Set([begun, key])) {
      const found = usable.find((binding) => binding.keys === keys)
      if (found !== undefined) return found
      if (usable.some((binding) => binding.keys.startsWith(`${keys} `))) {
        pending = keys
        pendingAt = at
        return null
      }
    }
    return null
  }
}
