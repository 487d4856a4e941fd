import { useEffect } from 'react'

import { discardDraft } from '~/lib/drafts'
import { useDraft } from '~/ui/useDraft'

interface Discardable<S> {
  /** The key of the draft. */
  draftKey: string
  isChanged: boolean
  /** What `restore` needs to bring back all that was typed. */
  state: S
  discard: () => void
  restore: (state: S) => void
}

export interface Discarding {
  discard: () => void
  /** Brings back what was discarded last; null if there is nothing, or if something else was typed since. */
  undo: (() => void) | null
  /** After a save: what was discarded before it is not offered again. */
  forget: () => void
}

/** What somebody discarded may be lost. */
const never = (): boolean => false

/**
 * Keeps what is discarded until the page is left. It is stored as a draft: after a sign-out nobody else can have it.
 */
export function useDiscard<S>({ draftKey, isChanged, state, discard, restore }: Discardable<S>): Discarding {
  const key = `discarded:${draftKey}`
  const discarded = useDraft<{ state: S } | null>(key, null, never)
  useEffect(() => () => discardDraft(key), [key])
  const kept = discarded.value
  return {
    discard: () => {
      discarded.set({ state })
      discard()
    },
    undo:
      kept === null || isChanged
        ? null
        : () => {
            discarded.discard()
            restore(kept.state)
          },
    forget: discarded.discard,
  }
}
