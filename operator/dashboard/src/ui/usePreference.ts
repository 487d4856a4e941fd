import { useCallback } from 'react'

import { preferences, setPreference, type Preferences } from '~/lib/preferences'
import { useStore } from '~/lib/useStore'

/** Returns a stored choice of the reader, and how to change it. */
export function usePreference<K extends keyof Preferences>(
  name: K,
): [value: Preferences[K], set: (value: Preferences[K]) => void] {
  const value = useStore(preferences, (all) => all[name])
  const set = useCallback((next: Preferences[K]) => setPreference(name, next), [name])
  return [value, set]
}
