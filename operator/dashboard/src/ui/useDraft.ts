import { useCallback } from 'react'

import { discardDraft, drafts, isUnsent, setDraft } from '~/lib/drafts'
import { useStore } from '~/lib/useStore'

export interface Draft<T> {
  value: T
  isDirty: boolean
  /** Something would be lost: what was typed differs from what is saved. */
  isUnsent: boolean
  set: (next: T | ((current: T) => T)) => void
  discard: () => void
}

/**
 * Returns what was typed under this key, also after the page was left. `initial` is shown until something is set.
 *
 * `isChanged` tells whether a draft holds anything that must not be lost. It must be the same function each time.
 */
export function useDraft<T>(key: string, initial: T, isChanged: (draft: T, initial: T) => boolean = differs): Draft<T> {
  const stored = useStore(drafts, (all) => all.get(key)) as T | undefined
  const isKept = useStore(drafts, () => isUnsent(key))
  const set = useCallback(
    (next: T | ((current: T) => T)) => {
      const current = (drafts.get().get(key) as T | undefined) ?? initial
      const draft = typeof next === 'function' ? (next as (current: T) => T)(current) : next
      setDraft(key, draft, isChanged(draft, initial))
    },
    [key, initial, isChanged],
  )
  const discard = useCallback(() => discardDraft(key), [key])
  return { value: stored ?? initial, isDirty: stored !== undefined, isUnsent: isKept, set, discard }
}

function differs(draft: unknown, initial: unknown): boolean {
  return JSON.stringify(draft) !== JSON.stringify(initial)
}
