import { useCallback, useSyncExternalStore } from 'react'

interface Clock {
  now: number
  listeners: Set<() => void>
  stop: () => void
}

/** One clock for each interval: a table of 100 ages has one timer, and renders once when it ticks. */
const clocks = new Map<number, Clock>()

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
  return useSyncExternalStore(subscribe, () => clocks.get(milliseconds)?.now ?? wholeSecond())
}

/** The time that is read before the clock runs must be the one that it begins with: another one renders twice. */
function wholeSecond(): number {
  return Math.floor(Date.now() / 1000) * 1000
}

function startClock(milliseconds: number): Clock {
  const clock: Clock = { now: wholeSecond(), listeners: new Set(), stop: () => undefined }
  const tick = (): void => {
    if (document.hidden) return
    clock.now = wholeSecond()
    clock.listeners.forEach((listener) => listener())
  }
  const timer = setInterval(tick, milliseconds)
  document.addEventListener('visibilitychange', tick)
  clock.stop = () => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', tick)
  }
  clocks.set(milliseconds, clock)
  return clock
}
