/** What was typed and not sent yet. Kept in memory only: never in storage, because it can hold values and secrets. */

import { createStore } from '~/lib/store'

export const drafts = createStore<ReadonlyMap<string, unknown>>(new Map())

/** The key of the values of an xApp that are being edited. */
export function valuesDraftKey(namespace: string, name: string): string {
  return `values:${namespace}/${name}`
}

/** The values of an xApp that were typed and not sent; null if there are none. */
export function typedValues(namespace: string, name: string): string | null {
  const draft = drafts.get().get(valuesDraftKey(namespace, name))
  if (typeof draft !== 'object' || draft === null || !('text' in draft)) return null
  return typeof draft.text === 'string' ? draft.text : null
}

export function setDraft(key: string, value: unknown): void {
  drafts.set((current) => new Map(current).set(key, value))
}

export function discardDraft(key: string): void {
  drafts.set((current) => {
    if (!current.has(key)) return current
    const next = new Map(current)
    next.delete(key)
    return next
  })
}
