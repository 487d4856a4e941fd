/** What was typed and not sent yet. Kept in memory only: never in storage, because it can hold values and secrets. */

import { createStore } from '~/lib/store'

export const drafts = createStore<ReadonlyMap<string, unknown>>(new Map())

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
