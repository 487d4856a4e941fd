/** What a browser remembers: looks, and the last organization, team and namespace. Never values or credentials. */

import { createStore } from '~/lib/store'

export interface Preferences {
  theme: 'system' | 'light' | 'dark'
  density: 'normal' | 'compact'
  keys: 'on' | 'off'
  organization: string
  team: string
  namespace: string
}

const DEFAULTS: Preferences = {
  theme: 'system',
  density: 'normal',
  keys: 'on',
  organization: '',
  team: '',
  namespace: '',
}

const ALLOWED: { readonly [K in keyof Preferences]?: readonly string[] } = {
  theme: ['system', 'light', 'dark'],
  density: ['normal', 'compact'],
  keys: ['on', 'off'],
}

const STORAGE_KEY = 'xapp-preferences'

export const preferences = createStore<Preferences>(load())

export function setPreference<K extends keyof Preferences>(name: K, value: Preferences[K]): void {
  preferences.set((current) => ({ ...current, [name]: value }))
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(preferences.get()))
  } catch {
    // Storage is full or switched off: the choice lasts as long as the page.
  }
}

/** Takes over what another tab has stored. */
export function followOtherTabs(): () => void {
  const onStorage = (event: StorageEvent): void => {
    if (event.key === STORAGE_KEY) preferences.set(load())
  }
  window.addEventListener('storage', onStorage)
  return () => window.removeEventListener('storage', onStorage)
}

function load(): Preferences {
  const found = { ...DEFAULTS }
  try {
    const stored = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? '{}') as Record<string, unknown>
    for (const name of Object.keys(DEFAULTS) as (keyof Preferences)[]) {
      const value = stored[name]
      if (typeof value === 'string' && (ALLOWED[name]?.includes(value) ?? value.length <= 253)) {
        Object.assign(found, { [name]: value })
      }
    }
  } catch {
    // Not readable: the defaults.
  }
  return found
}
