import { useEffect, useEffectEvent, useState } from 'react'

import { openStream } from '~/api/stream'
import { Problem } from '~/lib/problem'
import { cutLine, lineTime, remarkLine, type LogLine } from '~/lib/xapp/logLines'

export type LogState =
  /** Crowded: other windows have all places for streams, and the log is read now and then. */
  | { name: 'opening' | 'open' | 'crowded' | 'interrupted' }
  /** The run is over; a next run is looked for if `isWaiting`. */
  | { name: 'ended'; isWaiting: boolean }
  /** There is no log yet, or not any more; it is looked for again. */
  | { name: 'missing'; problem: Problem }
  | { name: 'refused'; problem: Problem }
  /** Another page of this tab took the stream. */
  | { name: 'replaced' }

interface LogOptions {
  /** Path and query of the log; null: none. */
  path: string | null
  /** Whether a run after this one is followed too. */
  followsRestarts: boolean
  onLines: (lines: readonly LogLine[]) => void
  /** The log comes again from its beginning. */
  onReset: () => void
  /** What was written before is too much: ask for this number of lines instead. */
  onTooLong: (tail: number) => void
}

const FLUSH_MILLISECONDS = 100
const FIRST_RETRY_SECONDS = 1
const MAX_RETRY_SECONDS = 10
const NOT_FOUND = 404
/** A response that reaches its limit of bytes this early has had older lines to send, and no end of them in sight. */
const TOO_LONG_MILLISECONDS = 10_000
/** Of the lines that a response holds, about as many fit into what the page keeps. */
const KEPT_PART = 0.5

/** Follows a log, through restarts of its container. Lines come in bundles, so that a fast log costs few renders. */
export function useLog({ path, followsRestarts, onLines, onReset, onTooLong }: LogOptions): LogState {
  const [known, setKnown] = useState<{ path: string | null; state: LogState }>({ path, state: { name: 'opening' } })
  const deliver = useEffectEvent(onLines)
  const reset = useEffectEvent(onReset)
  const shorten = useEffectEvent(onTooLong)
  useEffect(() => {
    if (path === null) return undefined
    return followLog({
      path,
      followsRestarts,
      onLines: (lines) => deliver(lines),
      onReset: () => reset(),
      onTooLong: (tail) => shorten(tail),
      onState: (state) => setKnown({ path, state }),
    })
  }, [path, followsRestarts])
  return known.path === path ? known.state : { name: 'opening' }
}

interface FollowOptions extends LogOptions {
  path: string
  onState: (state: LogState) => void
}

/** Returns how to stop. */
function followLog({ path, followsRestarts, onLines, onReset, onTooLong, onState }: FollowOptions): () => void {
  let lastEventId = ''
  let attempt = 0
  let hasNewLines = false
  /** When the log began to come from its beginning, and how many lines came since; null when it was resumed. */
  let begun: { at: number; lines: number } | null = null
  let pending: LogLine[] = []
  let flushTimer: ReturnType<typeof setTimeout> | undefined
  let retryTimer: ReturnType<typeof setTimeout> | undefined
  let close: () => void = () => undefined

  const flush = (): void => {
    flushTimer = undefined
    const lines = pending
    pending = []
    if (lines.length > 0) onLines(lines)
  }
  const add = (lines: readonly LogLine[]): void => {
    pending.push(...lines)
    flushTimer ??= setTimeout(flush, FLUSH_MILLISECONDS)
  }
  const tryLater = (): void => {
    const seconds = Math.min(MAX_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** attempt)
    attempt += 1
    retryTimer = setTimeout(open, seconds * 1000)
  }
  const endRun = (): void => {
    close()
    if (hasNewLines)
      add([remarkLine(followsRestarts ? 'the container has ended; its next run follows' : 'end of the log')])
    // Without ids of lines, a next run cannot be told from this one: its lines would come again.
    const isWaiting = followsRestarts && (lastEventId !== '' || !hasNewLines)
    hasNewLines = false
    onState({ name: 'ended', isWaiting })
    if (isWaiting) tryLater()
  }
  const refuse = (problem: Problem): void => {
    if (problem.status !== NOT_FOUND) {
      onState({ name: 'refused', problem })
      return
    }
    onState({ name: 'missing', problem })
    tryLater()
  }
  function open(): void {
    close = openStream({
      slot: 'log',
      path,
      lastEventId,
      onCrowded: () => onState({ name: 'crowded' }),
      onOpen: (isResumed, isLive) => {
        begun = isResumed ? null : { at: Date.now(), lines: 0 }
        if (!isResumed) {
          pending = []
          onReset()
        }
        onState({ name: isLive ? 'open' : 'crowded' })
      },
      onInterrupted: () => onState({ name: 'interrupted' }),
      onEnd: (problem) => (problem === null ? onState({ name: 'replaced' }) : refuse(problem)),
      onMessage: ({ event, id, data }) => {
        if (event === 'end') {
          endRun()
          return
        }
        if (event === 'limit') {
          // The stream goes on by itself, after its last line.
          if (begun !== null && Date.now() - begun.at < TOO_LONG_MILLISECONDS) {
            onTooLong(Math.max(1, Math.floor(begun.lines * KEPT_PART)))
          }
          return
        }
        attempt = 0
        hasNewLines = true
        if (begun !== null) begun.lines += 1
        if (id !== undefined) lastEventId = id
        const at = id === undefined ? null : lineTime(id)
        add(data.split('\n').map((text) => ({ at, text: cutLine(text) })))
      },
    })
  }
  open()
  return () => {
    clearTimeout(flushTimer)
    clearTimeout(retryTimer)
    close()
  }
}
