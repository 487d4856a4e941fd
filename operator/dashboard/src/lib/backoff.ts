/** When to try again: 1, 2, 4 .. 30 seconds, each up to a fifth shorter or longer; never before what the server asks. */

const FIRST_SECONDS = 1
const MAX_SECONDS = 30
const JITTER = 0.2

/** `attempt` counts from 0. `retryAfter`: seconds of the last answer's Retry-After. Returns milliseconds. */
export function backoffMilliseconds(attempt: number, retryAfter: number | null = null, random = Math.random): number {
  const seconds = Math.min(MAX_SECONDS, FIRST_SECONDS * 2 ** Math.min(attempt, 16))
  const jittered = seconds * (1 - JITTER + 2 * JITTER * random())
  return Math.round(1000 * Math.max(jittered, retryAfter ?? 0))
}
