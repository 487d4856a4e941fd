/** What was typed and not sent yet. Kept in memory only: never in storage, because it can hold values and secrets. */

import { createStore } from '~/lib/store'

export const drafts = createStore<ReadonlyMap<string, unknown>>(new Map())

/** Keys of drafts that can be lost: they say the same as what is saved, or they were discarded. */
const dispensable = new Set<string>()

/** Returns whether this draft holds something that is lost unless it is sent. */
export function isUnsent(key: string): boolean {
  return drafts.get().has(key) && !dispensable.has(key)
}

/** Returns whether any draft does, of this page or another one, or set aside: closing or reloading the tab loses it. */
export function isAnythingUnsent(): boolean {
  return [...drafts.get().keys(), ...(setAside?.drafts.keys() ?? [])].some((key) => !dispensable.has(key))
}

/** What somebody typed before they were signed out, for when they come back. Nobody else gets it. */
let setAside: { user: string; drafts: ReadonlyMap<string, unknown> } | null = null

/** Empties the store, because its user was signed out. `user`: null if it is not known who that was. */
export function setDraftsAside(user: string | null): void {
  const typed = drafts.get()
  if (user !== null && typed.size > 0) setAside = { user, drafts: typed }
  drafts.set(new Map())
}

/** Gives back what this user typed before they were signed out, and forgets what another one typed. */
export function giveDraftsBack(user: string): void {
  const kept = setAside
  if (kept === null) return
  setAside = null
  drafts.set((current) => new Map(kept.user === user ? [...kept.drafts, ...current] : current))
}

/** Returns whether a text that is edited differs from the one that the edit began with. */
export function isTextChanged(draft: { text: string; base: string } | null): boolean {
  return draft !== null && draft.text !== draft.base
}

/** Stores what was typed, as the last draft. `isChanged`: it differs from what is saved, so it must not be lost. */
export function setDraft(key: string, value: unknown, isChanged = true): void {
  if (isChanged) dispensable.delete(key)
  else dispensable.add(key)
  drafts.set((current) => {
    const next = new Map(current)
    next.delete(key)
    return next.set(key, value)
  })
}

export function discardDraft(key: string): void {
  drafts.set((current) => {
    if (!current.has(key)) return current
    const next = new Map(current)
    next.delete(key)
    return next
  })
}
