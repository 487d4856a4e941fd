/**
 * Whether the gateway answers. After a failure it is asked again with growing pauses, until it does.
 *
 * Only the probe says that the gateway is back. An answer to another request does not: where one request fails and the
 * others are answered, each answer would make the page read everything again, and so repeat the failure.
 */

import { backoffMilliseconds } from '~/lib/backoff'
import { parseRetryAfter } from '~/lib/problem'
import { createStore } from '~/lib/store'

export interface Connection {
  state: 'online' | 'offline' | 'starting'
  /** When the gateway was last heard, by an answer or on a stream: milliseconds since 1970; 0: never. */
  lastAnswerAt: number
  /** When the gateway is asked again; null while it is asked, or online. */
  nextTryAt: number | null
}

export const connection = createStore<Connection>({ state: 'online', lastAnswerAt: 0, nextTryAt: null })

const PROBE = '/readyz'
/** A proxy may pass on the pages and the API, and nothing else. This path needs no rights, and tells less: not "ready". */
const SECOND_PROBE = '/api/about'
/** Of each of the two. */
const PROBE_TIMEOUT_MILLISECONDS = 5000
/**
 * A stream hears the gateway every 15 seconds. A page without one asks after a longer silence: with the timeouts, a page
 * knows that the gateway is away before what it shows is 30 seconds old.
 */
const SILENT_MILLISECONDS = 18_000
const LOOK_MILLISECONDS = 1000
/** A stream may bring hundreds of events in a second; a clock shows seconds. */
const HEARD_MILLISECONDS = 500
/** A gateway that goes away again so soon is asked with longer pauses than before. */
const STEADY_MILLISECONDS = 10_000
const STATUS_BAD_GATEWAY = 502
const STATUS_UNAVAILABLE = 503

let attempt = 0
/** How often the gateway went away soon after it was back. */
let relapses = 0
let backAt = -Infinity
/** Before that, no answer makes the page ask earlier. */
let notBefore = 0
let timer: ReturnType<typeof setTimeout> | undefined
const onlineListeners = new Set<() => void>()

/** Calls the listener each time that the gateway answers again. Returns how to stop that. */
export function onReconnect(listener: () => void): () => void {
  onlineListeners.add(listener)
  return () => onlineListeners.delete(listener)
}

/** Records that the gateway answered. If it was away, it is asked now, unless that was a moment ago. */
export function gatewayAnswered(): void {
  connection.set((current) => ({ ...current, lastAnswerAt: Date.now() }))
  const { state, nextTryAt } = connection.get()
  if (state !== 'online' && nextTryAt !== null && Date.now() >= notBefore) tryNow()
}

/** Records that a stream brought something: also with a heartbeat, what the page shows is up to date. */
export function gatewayHeard(): void {
  const { state, lastAnswerAt } = connection.get()
  const isNews = Date.now() - lastAnswerAt >= HEARD_MILLISECONDS
  if (state === 'online' && isNews) connection.set((current) => ({ ...current, lastAnswerAt: Date.now() }))
}

/** Lets streams and queries try again now: the gateway is back, or the caller has signed in again. */
export function reconnected(): void {
  for (const listener of [...onlineListeners]) listener()
}

/** Records that a request got no answer, or that the gateway is not ready. Begins to ask until it is. */
export function gatewayFailed(state: 'offline' | 'starting', retryAfter: number | null = null): void {
  const current = connection.get()
  if (current.state === 'online') schedule(state, retryAfter)
  else if (current.state !== state) connection.set({ ...current, state })
}

/** Records that a stream got no answer, or was silent. The probe decides, unless all was silent for a while. */
export function streamFailed(isSilent = false): void {
  const { state, lastAnswerAt } = connection.get()
  if (state !== 'online') return
  if (isSilent && Date.now() - lastAnswerAt >= SILENT_MILLISECONDS) gatewayFailed('offline')
  else void probe()
}

/** Asks the gateway at once. */
export function tryNow(): void {
  clearTimeout(timer)
  void probe()
}

/** Asks the gateway whenever it was silent for a while and the tab is in view. Returns how to stop that. */
export function watchGateway(): () => void {
  let isAsking = false
  const look = (): void => {
    const { state, lastAnswerAt } = connection.get()
    const isSilent = Date.now() - lastAnswerAt >= SILENT_MILLISECONDS
    if (isAsking || document.hidden || state !== 'online' || lastAnswerAt === 0 || !isSilent) return
    isAsking = true
    void probe().finally(() => {
      isAsking = false
    })
  }
  const interval = setInterval(look, LOOK_MILLISECONDS)
  document.addEventListener('visibilitychange', look)
  return () => {
    clearInterval(interval)
    document.removeEventListener('visibilitychange', look)
  }
}

function schedule(state: 'offline' | 'starting', retryAfter: number | null): void {
  if (connection.get().state === 'online') {
    relapses = Date.now() - backAt < STEADY_MILLISECONDS ? relapses + 1 : 0
    attempt = relapses
  }
  const wait = backoffMilliseconds(attempt, retryAfter)
  notBefore = Date.now() + backoffMilliseconds(relapses, retryAfter)
  attempt += 1
  clearTimeout(timer)
  timer = setTimeout(() => void probe(), wait)
  connection.set((current) => ({ ...current, state, nextTryAt: Date.now() + wait }))
}

function gatewayIsReady(): void {
  const { state } = connection.get()
  clearTimeout(timer)
  connection.set({ state: 'online', lastAnswerAt: Date.now(), nextTryAt: null })
  if (state === 'online') return
  backAt = Date.now()
  reconnected()
}

/** Returns what the gateway answers; the second probe is for a gateway of which the first one says nothing. */
async function askGateway(): Promise<Response> {
  const response = await ask(PROBE).catch(() => null)
  return response?.ok || response?.status === STATUS_UNAVAILABLE ? response : ask(SECOND_PROBE)
}

function ask(path: string): Promise<Response> {
  return fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(PROBE_TIMEOUT_MILLISECONDS) })
}

async function probe(): Promise<void> {
  const { state, lastAnswerAt } = connection.get()
  if (state !== 'online') connection.set((current) => ({ ...current, nextTryAt: null }))
  try {
    const response = await askGateway()
    if (response.ok) gatewayIsReady()
    else {
      // A proxy in front of the gateway answers for it with 502.
      const state = response.status === STATUS_BAD_GATEWAY ? 'offline' : 'starting'
      schedule(state, parseRetryAfter(response.headers.get('Retry-After')))
    }
  } catch {
    // A gateway that was heard meanwhile is there: only this one request was lost.
    const now = connection.get()
    if (now.state !== 'online' || now.lastAnswerAt === lastAnswerAt) schedule('offline', null)
  }
}

/** Returns whether this status says that the gateway itself is not ready. */
export function isNotReady(status: number, type: string): boolean {
  return status === STATUS_UNAVAILABLE && type.endsWith(':not-ready')
}
