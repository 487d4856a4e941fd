import { useCallback, useSyncExternalStore } from 'react'

interface Clock {
  listeners: Set<() => void>
  stop: () => void
}

/** One clock for each interval: a table of 100 ages has one timer, and renders once when it ticks. */
const clocks = new Map<number, Clock>()
/**
 * When any of the clocks ticked last. They share it: who goes from a quick clock to a slow one must not go back in time,
 * or an age at the border between two intervals renders for ever.
 */
let now = 0

/** Returns the time, and renders again every `milliseconds` while the page is visible. */
export function useNow(milliseconds: number): number {
  const subscribe = useCallback(
    (listener: () => void) => {
      const clock = clocks.get(milliseconds) ?? startClock(milliseconds)
      clock.listeners.add(listener)
      return () => {
        clock.listeners.delete(listener)
        if (clock.listeners.size > 0) return
        clock.stop()
        clocks.delete(milliseconds)
      }
    },
    [milliseconds],
  )
  return useSyncExternalStore(subscribe, () => (clocks.size > 0 ? now : wholeSecond()))
}

/** The time that is read before a clock runs must be the one that it begins with: another one renders twice. */
function wholeSecond(): number {
  return Math.floor(Date.now() / 1000) * 1000
}

function startClock(milliseconds: number): Clock {
  const clock: Clock = { listeners: new Set(), stop: () => undefined }
  const tick = (): void => {
    if (document.hidden) return
    now = wholeSecond()
    clock.listeners.forEach((listener) => listener())
  }
  now = wholeSecond()
  const timer = setInterval(tick, milliseconds)
  document.addEventListener('visibilitychange', tick)
  clock.stop = () => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', tick)
  }
  clocks.set(milliseconds, clock)
  return clock
}
