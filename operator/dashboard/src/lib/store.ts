/** A value that components subscribe to (`useStore` in ui/useStore.ts). The only kind of global state of the pages. */
export interface Store<T> {
  get: () => T
  set: (next: T | ((current: T) => T)) => void
  subscribe: (listener: () => void) => () => void
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial
  const listeners = new Set<() => void>()
  return {
    get: () => value,
    set: (next) => {
      const computed = typeof next === 'function' ? (next as (current: T) => T)(value) : next
      if (Object.is(computed, value)) return
      value = computed
      for (const listener of [...listeners]) listener()
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
