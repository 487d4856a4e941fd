// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import {
  connection,
  gatewayAnswered,
  gatewayFailed,
  gatewayHeard,
  onReconnect,
  streamFailed,
  tryNow,
  watchGateway,
} from '~/api/connection'

const SILENT_MILLISECONDS = 18_000

let answer: (path: string) => Promise<Response> = () => Promise.reject(new Error('away'))
let asked = 0
let day = Date.now()
let stop: () => void = () => undefined

function setHidden(hidden: boolean): void {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
  document.dispatchEvent(new Event('visibilitychange'))
}

/** Lets the probe wait, and the second one fail at once. Returns how to let the first one fail. */
function holdProbe(): () => void {
  let reject: (error: Error) => void = () => undefined
  answer = (path) =>
    path === '/readyz' ? new Promise((_, fail) => (reject = fail)) : Promise.reject(new Error('timed out'))
  return () => reject(new Error('timed out'))
}

beforeEach(() => {
  vi.useFakeTimers()
  // No test begins soon after the gateway was back in another one.
  day += 86_400_000
  vi.setSystemTime(day)
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
  asked = 0
  answer = () => Promise.resolve(new Response())
  vi.stubGlobal('fetch', (path: string) => {
    if (path === '/readyz') asked += 1
    return answer(path)
  })
  connection.set({ state: 'online', lastAnswerAt: Date.now(), nextTryAt: null })
  stop = watchGateway()
})

afterEach(() => {
  stop()
  setHidden(false)
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

it('notices a gateway that goes away and comes back while a page has no stream and reads nothing', async () => {
  const reconnected = vi.fn()
  const stopListening = onReconnect(reconnected)
  const heardAt = Date.now()
  answer = () => Promise.reject(new Error('away'))
  await vi.advanceTimersByTimeAsync(SILENT_MILLISECONDS - 1000)
  expect(asked).toBe(0)
  await vi.advanceTimersByTimeAsync(1000)
  expect(connection.get()).toMatchObject({ state: 'offline', lastAnswerAt: heardAt })
  answer = () => Promise.resolve(new Response())
  await vi.advanceTimersByTimeAsync(1000)
  expect(connection.get().state).toBe('online')
  expect(reconnected).toHaveBeenCalledOnce()
  stopListening()
})

it('does not ask while a stream hears the gateway, or the tab is hidden, and asks when it is in view again', async () => {
  for (let beats = 0; beats < 4; beats += 1) {
    await vi.advanceTimersByTimeAsync(15_000)
    gatewayHeard()
  }
  setHidden(true)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(asked).toBe(0)
  setHidden(false)
  expect(asked).toBe(1)
})

it('asks one question at a time, which does not count when the gateway is heard meanwhile', async () => {
  const fail = holdProbe()
  await vi.advanceTimersByTimeAsync(SILENT_MILLISECONDS + 5000)
  expect(asked).toBe(1)
  gatewayAnswered()
  fail()
  await vi.advanceTimersByTimeAsync(0)
  expect(connection.get().state).toBe('online')
})

describe('where one request fails and the others are answered', () => {
  let rounds = 0
  let stopListening: () => void = () => undefined

  beforeEach(() => {
    rounds = 0
    stopListening = onReconnect(() => {
      rounds += 1
      gatewayAnswered()
      gatewayFailed('offline')
      gatewayAnswered()
    })
  })

  afterEach(() => stopListening())

  it('lets the page read again with growing pauses only', async () => {
    gatewayFailed('offline')
    for (let seconds = 0; seconds < 63; seconds += 1) {
      await vi.advanceTimersByTimeAsync(1000)
      gatewayAnswered()
    }
    // After 1, 2, 4, 8, 16 seconds, and 30 each from then on.
    expect(rounds).toBe(6)
    expect(asked).toBe(6)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(rounds).toBe(8)
  })

  it('pauses shortly again once the gateway was there for a while', async () => {
    gatewayFailed('offline')
    await vi.advanceTimersByTimeAsync(7000)
    expect(rounds).toBe(3)
    stopListening()
    await vi.advanceTimersByTimeAsync(8000)
    expect(connection.get().state).toBe('online')
    await vi.advanceTimersByTimeAsync(10_000)
    gatewayFailed('offline')
    expect(connection.get().nextTryAt).toBe(Date.now() + 1000)
  })
})

it('asks at once when something is answered during a long pause, but not before the gateway wants it', async () => {
  answer = () => Promise.reject(new Error('away'))
  gatewayFailed('offline')
  await vi.advanceTimersByTimeAsync(17_000)
  const before = asked
  answer = () => Promise.resolve(new Response(null, { status: 503, headers: { 'Retry-After': '20' } }))
  gatewayAnswered()
  gatewayAnswered()
  await vi.advanceTimersByTimeAsync(0)
  expect(asked).toBe(before + 1)
  expect(connection.get().state).toBe('starting')
  answer = () => Promise.resolve(new Response())
  await vi.advanceTimersByTimeAsync(19_000)
  gatewayAnswered()
  expect(asked).toBe(before + 1)
  await vi.advanceTimersByTimeAsync(1000)
  gatewayAnswered()
  await vi.advanceTimersByTimeAsync(0)
  expect(connection.get().state).toBe('online')
})

describe('where a proxy passes on the pages and the API only', () => {
  it.each([
    ['loses', () => Promise.reject(new Error('lost'))],
    ['refuses', () => Promise.resolve(new Response(null, { status: 404 }))],
    ['does not reach anything for', () => Promise.resolve(new Response(null, { status: 502 }))],
  ])('is back when the API answers, although it %s the probe', async (_, refuse) => {
    answer = (path) => (path.startsWith('/api/') ? Promise.resolve(new Response()) : refuse())
    gatewayFailed('offline')
    await vi.advanceTimersByTimeAsync(1000)
    expect(connection.get()).toMatchObject({ state: 'online', nextTryAt: null })
  })

  it('is away while the API does not answer either, or the gateway says that it starts', async () => {
    answer = () => Promise.resolve(new Response(null, { status: 502 }))
    gatewayFailed('offline')
    await vi.advanceTimersByTimeAsync(1000)
    expect(connection.get().state).toBe('offline')
    answer = (path) => Promise.resolve(new Response(null, { status: path.startsWith('/api/') ? 200 : 503 }))
    await vi.advanceTimersByTimeAsync(2000)
    expect(connection.get().state).toBe('starting')
  })
})

it('is away until its probe succeeds, and goes on to ask while other requests are answered', async () => {
  const reconnected = vi.fn()
  const stopListening = onReconnect(reconnected)
  const fail = holdProbe()
  gatewayFailed('offline')
  gatewayAnswered()
  expect(connection.get().state).toBe('offline')
  await vi.advanceTimersByTimeAsync(1500)
  gatewayAnswered()
  fail()
  await vi.advanceTimersByTimeAsync(0)
  expect(connection.get().nextTryAt).toBeGreaterThan(Date.now())
  expect(reconnected).not.toHaveBeenCalled()
  answer = () => Promise.resolve(new Response())
  tryNow()
  await vi.advanceTimersByTimeAsync(0)
  expect(connection.get()).toMatchObject({ state: 'online', nextTryAt: null })
  expect(reconnected).toHaveBeenCalledOnce()
  stopListening()
})

it.each([
  ['is there', () => Promise.resolve(new Response()), 'online'],
  ['is away', () => Promise.reject(new Error('away')), 'offline'],
  ['starts', () => Promise.resolve(new Response(null, { status: 503 })), 'starting'],
] as const)('asks when a stream fails whether the gateway %s', async (_, probe, state) => {
  const reconnected = vi.fn()
  const stopListening = onReconnect(reconnected)
  answer = probe
  streamFailed()
  expect([asked, connection.get().state]).toEqual([1, 'online'])
  await vi.advanceTimersByTimeAsync(0)
  expect(connection.get().state).toBe(state)
  expect(reconnected).not.toHaveBeenCalled()
  stopListening()
})

it('takes the gateway for away when a stream is silent and nothing else was heard for a while', () => {
  stop()
  streamFailed(true)
  expect([asked, connection.get().state]).toEqual([1, 'online'])
  vi.setSystemTime(Date.now() + SILENT_MILLISECONDS)
  streamFailed()
  expect([asked, connection.get().state]).toEqual([2, 'online'])
  streamFailed(true)
  expect([asked, connection.get().state]).toEqual([2, 'offline'])
})
