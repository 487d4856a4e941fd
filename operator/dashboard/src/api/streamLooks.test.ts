// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { openStream } from '~/api/stream'
import { allowPathsInRequests } from '~/api/testRequests'

const PIECE = 'event: added\ndata: {}\n'
/** The Last-Event-ID of each request. */
let calls: (string | null)[] = []
let grants: (() => void)[] = []
let close: () => void = () => undefined

/** The lock manager of a browser in which other windows hold all locks until the test lets go of them. */
const locks = {
  request: (_: string, { signal }: LockOptions, hold: () => Promise<void>): Promise<void> =>
    new Promise((resolve, reject) => {
      grants.push(() => void hold().then(resolve, reject))
      signal?.addEventListener('abort', () => reject(new Error('aborted')))
    }),
}

beforeEach(() => {
  calls = []
  grants = []
  vi.useFakeTimers()
  Object.defineProperty(navigator, 'locks', { value: locks, configurable: true })
  allowPathsInRequests()
  vi.stubGlobal('fetch', (request: Request) => {
    const number = calls.length
    calls.push(request.headers.get('Last-Event-ID'))
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    void writable.getWriter().write(new TextEncoder().encode(`id: ${number}\n${PIECE}\n`))
    return Promise.resolve(new Response(readable))
  })
})

afterEach(() => {
  close()
  Reflect.deleteProperty(navigator, 'locks')
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

it('looks every 10 seconds while it has no place, and stays open once it has one', async () => {
  const seen: string[] = []
  close = openStream({
    slot: 'changes',
    path: '/api/stream',
    onCrowded: () => seen.push('crowded'),
    onOpen: (isResumed, isLive) => seen.push(`${isResumed ? 'resumed' : 'new'}, ${isLive ? 'live' : 'a look'}`),
    onInterrupted: () => seen.push('interrupted'),
    onMessage: ({ id }) => seen.push(`event ${id ?? ''}`),
  })
  await vi.advanceTimersByTimeAsync(400)
  expect([calls.length, seen]).toEqual([0, []])
  await vi.advanceTimersByTimeAsync(200)
  expect(seen).toEqual(['crowded', 'new, a look', 'event 0'])
  await vi.advanceTimersByTimeAsync(10_000)
  expect(calls).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(seen.slice(3)).toEqual(['resumed, a look', 'event 1'])
  expect(calls).toEqual([null, '0'])

  grants.forEach((grant) => grant())
  await vi.advanceTimersByTimeAsync(0)
  expect(seen.slice(5)).toEqual(['resumed, live', 'event 2'])
  await vi.advanceTimersByTimeAsync(25_000)
  expect(calls).toHaveLength(3)
})
