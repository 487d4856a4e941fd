import { useSyncExternalStore } from 'react'

import type { Store } from '~/lib/store'

/** Returns the value of a store, and renders again when it changes. */
export function useStore<T>(store: Store<T>): T
export function useStore<T, S>(store: Store<T>, select: (value: T) => S): S
export function useStore<T>(store: Store<T>, select: (value: T) => unknown = (value) => value): unknown {
  return useSyncExternalStore(store.subscribe, () => select(store.get()))
}
