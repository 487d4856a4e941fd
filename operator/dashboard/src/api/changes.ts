import type { Schemas } from '~/api/client'
import { useEventStream } from '~/api/useEventStream'
import { queryText, type Query } from '~/lib/query'
import { createStore } from '~/lib/store'

export interface Change {
  type: 'added' | 'modified' | 'deleted'
  record: Schemas['XAppRecord']
}

/** Whether the page hears of changes now: the header shows it. */
export const liveState = createStore<'live' | 'interrupted' | 'off'>('off')

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

/** Listens to changes of xApps. A page has one such stream. */
export function useChanges({ query, enabled = true, lastEventId = '', onChange, onReset }: ChangesOptions): void {
  useEventStream({
    slot: 'changes',
    path: enabled ? `/api/stream${queryText(query)}` : null,
    lastEventId,
    onOpen: (isResumed) => {
      liveState.set('live')
      if (!isResumed) onReset()
    },
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
