import { useEffect, useRef } from 'react'

import { openStream, type StreamOptions } from '~/api/stream'

/**
 * Keeps a stream open while the component is shown and `path` is not null. The callbacks may change; `lastEventId`
 * counts when the stream is opened.
 */
export function useEventStream({
  slot,
  path,
  isEndless = true,
  ...options
}: Omit<StreamOptions, 'path'> & { path: string | null }): void {
  const latest = useRef(options)
  useEffect(() => {
    latest.current = options
  })
  useEffect(() => {
    if (path === null) return
    return openStream({
      slot,
      path,
      isEndless,
      lastEventId: latest.current.lastEventId ?? '',
      onMessage: (message) => latest.current.onMessage(message),
      onOpen: (isResumed, isLive) => latest.current.onOpen?.(isResumed, isLive),
      onCrowded: () => latest.current.onCrowded?.(),
      onHeard: () => latest.current.onHeard?.(),
      onEnd: (problem) => latest.current.onEnd?.(problem),
      onInterrupted: () => latest.current.onInterrupted?.(),
    })
  }, [slot, path, isEndless])
}
