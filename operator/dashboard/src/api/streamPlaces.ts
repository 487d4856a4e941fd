/**
 * Places for streams, shared by all windows of a browser: over HTTP/1.1 it opens six connections to a server, and a
 * request beyond them waits for ever if each of them is a stream.
 */

export const CROWDED =
  'Not live: this browser has too many windows of the dashboard open. This one is read every 10 seconds.'

/** Two connections are left for all other requests. */
const PLACES = 4
/** A free place comes sooner. */
const CROWDED_MILLISECONDS = 500

interface PlaceOptions {
  onPlace: () => void
  /** No place is free now. `onPlace` follows as soon as one is. */
  onCrowded: () => void
}

/** Takes a place as soon as one is free. Returns how to give it back, or to wait no more. */
export function takePlace({ onPlace, onCrowded }: PlaceOptions): () => void {
  // Only pages that came over https, or from the machine of the browser, have locks.
  if (!('locks' in navigator)) {
    onPlace()
    return () => undefined
  }
  const waiting = new AbortController()
  let isOver = false
  let giveBack = (): void => undefined
  const isGivenBack = new Promise<void>((resolve) => {
    giveBack = resolve
  })
  const crowdedTimer = setTimeout(onCrowded, CROWDED_MILLISECONDS)
  const stopWaiting = (): void => {
    isOver = true
    clearTimeout(crowdedTimer)
    waiting.abort()
  }
  const hold = (): Promise<void> => {
    // Another one was free first.
    if (isOver) return Promise.resolve()
    stopWaiting()
    onPlace()
    return isGivenBack
  }
  for (let number = 0; number < PLACES; number += 1) {
    navigator.locks.request(`stream-${number}`, { signal: waiting.signal }, hold).catch(() => undefined)
  }
  return () => {
    stopWaiting()
    giveBack()
  }
}
