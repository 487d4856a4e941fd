import { useEffect } from 'react'

import type { Schemas } from '~/api/client'
import { useEventStream } from '~/api/useEventStream'
import { queryText, type Query } from '~/lib/query'
import { createStore } from '~/lib/store'

export interface Change {
  type: 'added' | 'modified' | 'deleted'
  record: Schemas['XAppRecord']
}

/** Whether the page hears of changes now: the header shows it. Crowded: other windows have all places for streams. */
export const liveState = createStore<'live' | 'crowded' | 'interrupted' | 'off'>('off')

/** When the stream of changes of this page was heard last, to the second: milliseconds since 1970; 0: never. */
export const changesHeardAt = createStore(0)

interface ChangesOptions {
  /** The filters of the list, `name`, `fields`. */
  query: Query
  enabled?: boolean
  /** What the page shows contains the changes up to the one with this id. Otherwise it reads once the stream has begun. */
  lastEventId?: string
  onChange: (change: Change) => void
  /** Changes were missed, or may have been: the stream has just begun. Read again. */
  onReset: () => void
}

/** Pages that listen: one at most, but for a moment two or none while one page replaces another. */
let listening = 0

function listen(): () => void {
  listening += 1
  return () => {
    listening -= 1
    // The next page begins to listen at the same moment, if it does.
    queueMicrotask(() => {
      if (listening === 0) liveState.set('off')
    })
  }
}

/** Listens to changes of xApps. A page has one such stream. */
export function useChanges({ query, enabled = true, lastEventId = '', onChange, onReset }: ChangesOptions): void {
  const path = enabled ? `/api/stream${queryText(query)}` : null
  // What was heard for another page says nothing of this one.
  useEffect(() => changesHeardAt.set(0), [path])
  useEffect(() => (path === null ? undefined : listen()), [path])
  const noteHeard = (): void => changesHeardAt.set(Math.floor(Date.now() / 1000) * 1000)
  useEventStream({
    slot: 'changes',
    path,
    lastEventId,
    onCrowded: () => liveState.set('crowded'),
    onOpen: (isResumed, isLive) => {
      liveState.set(isLive ? 'live' : 'crowded')
      noteHeard()
      if (!isResumed) onReset()
    },
    onHeard: noteHeard,
    onInterrupted: () => liveState.set('interrupted'),
    onEnd: () => liveState.set('off'),
    onMessage: ({ event, data }) => {
      if (event === 'reset') onReset()
      else if (event === 'added' || event === 'modified' || event === 'deleted') {
        onChange({ type: event, record: JSON.parse(data) as Schemas['XAppRecord'] })
      }
    },
  })
}
