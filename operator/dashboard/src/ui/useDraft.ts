import { useCallback } from 'react'

import { discardDraft, drafts, setDraft } from '~/lib/drafts'
import { useStore } from '~/lib/useStore'

export interface Draft<T> {
  value: T
  isDirty: boolean
  set: (next: T | ((current: T) => T)) => void
  discard: () => void
}

/** Returns what was typed under this key, also after the page was left. `initial` is shown until something is set. */
export function useDraft<T>(key: string, initial: T): Draft<T> {
  const stored = useStore(drafts, (all) => all.get(key)) as T | undefined
  const set = useCallback(
    (next: T | ((current: T) => T)) => {
      const current = (drafts.get().get(key) as T | undefined) ?? initial
      setDraft(key, typeof next === 'function' ? (next as (current: T) => T)(current) : next)
    },
    [key, initial],
  )
  const discard = useCallback(() => discardDraft(key), [key])
  return { value: stored ?? initial, isDirty: stored !== undefined, set, discard }
}
