// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { connection, reconnected } from '~/api/connection'
import { sessionState } from '~/api/session'
import { openStream } from '~/api/stream'
import { allowPathsInRequests } from '~/api/testRequests'

const NOT_READY = JSON.stringify({ type: 'urn:xapp-operator:problem:not-ready', title: 'Not ready' })

interface Call {
  request: Request
  answer: (response: Response) => void
  fail: () => void
}

let calls: Call[] = []
let probes = 0
let probe: () => Promise<Response> = () => Promise.reject(new Error('away'))
let close: () => void = () => undefined

function call(index: number): Call {
  const found = calls[index]
  if (found === undefined) throw new Error(`there is no request ${index}`)
  return found
}

/** A response that the test writes piece by piece. */
function eventStream(): { response: Response; write: (text: string) => void; end: () => void } {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  return {
    response: new Response(readable, { headers: { 'Content-Type': 'text/event-stream' } }),
    write: (text) => void writer.write(new TextEncoder().encode(text)),
    end: () => void writer.close(),
  }
}

function setHidden(hidden: boolean): void {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
  document.dispatchEvent(new Event('visibilitychange'))
}

beforeEach(() => {
  calls = []
  vi.useFakeTimers()
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
  probes = 0
  probe = () => Promise.resolve(new Response())
  vi.stubGlobal('fetch', (request: Request | string) => {
    if (typeof request === 'string') {
      probes += 1
      return probe()
    }
    return new Promise<Response>((answer, reject) => {
      calls.push({ request, answer, fail: () => reject(new TypeError('Failed to fetch')) })
    })
  })
  allowPathsInRequests()
  connection.set({ state: 'online', lastAnswerAt: Date.now(), nextTryAt: null })
})

afterEach(() => {
  close()
  setHidden(false)
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0)
}

describe('openStream', () => {
  it('reads events, and comes back with the id of the last one', async () => {
    const seen: string[] = []
    const opened: boolean[] = []
    close = openStream({
      slot: 'changes',
      path: '/api/stream',
      onMessage: ({ event, data }) => seen.push(`${event ?? ''} ${data}`),
      onOpen: (isResumed) => opened.push(isResumed),
    })
    const first = eventStream()
    call(0).answer(first.response)
    first.write(': ping\n\nevent: added\nid: 7\nda')
    first.write('ta: {}\n\n')
    await settle()
    expect(seen).toEqual(['added {}'])
    expect(call(0).request.headers.get('Last-Event-ID')).toBeNull()

    first.end()
    await vi.advanceTimersByTimeAsync(1000)
    expect(call(1).request.headers.get('Last-Event-ID')).toBe('7')
    call(1).answer(eventStream().response)
    await settle()
    expect(opened).toEqual([false, true])
  })

  it('waits as long as the gateway asks', async () => {
    close = openStream({ slot: 'changes', path: '/api/stream', onMessage: () => undefined })
    call(0).answer(new Response('{}', { status: 429, headers: { 'Retry-After': '20' } }))
    await vi.advanceTimersByTimeAsync(19_000)
    expect(calls).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1500)
    expect(calls).toHaveLength(2)
  })

  it('ends when it is refused for good', async () => {
    const ended: (number | undefined)[] = []
    close = openStream({
      slot: 'log',
      path: '/api/logs',
      onMessage: () => undefined,
      onEnd: (problem) => ended.push(problem?.status),
    })
    call(0).answer(new Response('{}', { status: 403 }))
    await vi.advanceTimersByTimeAsync(120_000)
    expect(ended).toEqual([403])
    expect(calls).toHaveLength(1)
  })

  it('is closed 10 seconds after the tab is hidden, and opened again in view', async () => {
    close = openStream({ slot: 'changes', path: '/api/stream', onMessage: () => undefined })
    const first = eventStream()
    call(0).answer(first.response)
    first.write('event: added\nid: 1\ndata: {}\n\n')
    await settle()
    setHidden(true)
    await vi.advanceTimersByTimeAsync(9_000)
    setHidden(false)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(calls).toHaveLength(1)

    setHidden(true)
    await vi.advanceTimersByTimeAsync(11_000)
    setHidden(false)
    await settle()
    expect(calls).toHaveLength(2)
    expect(call(1).request.headers.get('Last-Event-ID')).toBe('1')
  })

  it('comes back as soon as somebody has signed in again', async () => {
    close = openStream({ slot: 'changes', path: '/api/stream', lastEventId: '7', onMessage: () => undefined })
    sessionState.set('expired')
    call(0).answer(new Response('{}', { status: 401 }))
    await vi.advanceTimersByTimeAsync(120_000)
    expect(calls).toHaveLength(1)
    sessionState.set('signed-in')
    expect(calls).toHaveLength(2)
    expect(call(1).request.headers.get('Last-Event-ID')).toBe('7')
  })

  it('stays closed in a hidden tab when the gateway answers again', async () => {
    close = openStream({ slot: 'changes', path: '/api/stream', onMessage: () => undefined })
    call(0).answer(eventStream().response)
    await settle()
    setHidden(true)
    await vi.advanceTimersByTimeAsync(11_000)
    reconnected()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(calls).toHaveLength(1)
  })

  it('is interrupted by silence, and asks whether the gateway is there', async () => {
    let interruptions = 0
    probe = () => Promise.reject(new Error('away'))
    close = openStream({
      slot: 'changes',
      path: '/api/stream',
      onMessage: () => undefined,
      onInterrupted: () => (interruptions += 1),
    })
    const first = eventStream()
    call(0).answer(first.response)
    await vi.advanceTimersByTimeAsync(20_000)
    first.write(':\n\n')
    await vi.advanceTimersByTimeAsync(20_000)
    expect([connection.get().state, interruptions]).toEqual(['online', 0])
    await vi.advanceTimersByTimeAsync(9_000)
    expect([connection.get().state, interruptions]).toEqual(['offline', 1])
  })

  it('knows from a heartbeat that the page is up to date', async () => {
    close = openStream({ slot: 'changes', path: '/api/stream', onMessage: () => undefined })
    const first = eventStream()
    call(0).answer(first.response)
    await vi.advanceTimersByTimeAsync(15_000)
    first.write(':\n\n')
    await settle()
    const heardAt = Date.now()
    expect(connection.get().lastAnswerAt).toBe(heardAt)
    probe = () => Promise.reject(new Error('away'))
    await vi.advanceTimersByTimeAsync(29_000)
    expect(connection.get()).toMatchObject({ state: 'offline', lastAnswerAt: heardAt })
  })

  it('gives its place to another stream of the same kind', async () => {
    const ended: unknown[] = []
    openStream({ slot: 'log', path: '/api/one', onMessage: () => undefined, onEnd: (problem) => ended.push(problem) })
    close = openStream({ slot: 'log', path: '/api/two', onMessage: () => undefined })
    await settle()
    expect(ended).toEqual([null])
    expect(calls.map(({ request }) => new URL(request.url).pathname)).toEqual(['/api/one', '/api/two'])
  })

  it('tells that the gateway is starting', async () => {
    close = openStream({ slot: 'changes', path: '/api/stream', onMessage: () => undefined })
    probe = () => Promise.resolve(new Response(null, { status: 503 }))
    call(0).answer(new Response(NOT_READY, { status: 503 }))
    await settle()
    expect(connection.get().state).toBe('starting')
  })
})

describe('a stream that fails while the gateway answers', () => {
  const failures: [string, (call: Call) => void][] = [
    ['gets no answer', ({ fail }) => fail()],
    ['is refused with 500', ({ answer }) => answer(new Response('{}', { status: 500 }))],
    ['is told that the gateway is not ready', ({ answer }) => answer(new Response(NOT_READY, { status: 503 }))],
    ['ends as soon as it is open', ({ answer }) => answer(new Response(': hi\n\n'))],
    ['ends after an event', ({ answer }) => answer(new Response('event: reset\nid: 1\ndata: {}\n\n'))],
    ['breaks as soon as it is open', ({ answer }) => answer(new Response(broken()))],
  ]

  it.each(failures)('%s: comes back with growing pauses, and leaves the page alone', async (_, failWith) => {
    const states = new Set<string>()
    const unsubscribe = connection.subscribe(() => states.add(connection.get().state))
    close = openStream({ slot: 'changes', path: '/api/stream', onMessage: () => undefined })
    const openedAt: number[] = []
    for (let seconds = 0; seconds < 64; seconds += 1) {
      if (calls.length > openedAt.length) {
        openedAt.push(seconds)
        failWith(call(calls.length - 1))
      }
      // What else happens in the meantime: another tab signs in, the tab is hidden for a moment, a probe succeeds.
      await settle()
      reconnected()
      sessionState.set('expired')
      sessionState.set('signed-in')
      setHidden(true)
      setHidden(false)
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(openedAt).toEqual([0, 1, 3, 7, 15, 31, 61])
    expect(probes).toBeLessThanOrEqual(openedAt.length)
    expect([...states]).not.toContain('offline')
    expect([...states]).not.toContain('starting')
    unsubscribe()
  })

  it('pauses shortly again after it has lived for a while', async () => {
    let interruptions = 0
    close = openStream({
      slot: 'changes',
      path: '/api/stream',
      onMessage: () => undefined,
      onInterrupted: () => (interruptions += 1),
    })
    call(0).fail()
    await vi.advanceTimersByTimeAsync(1000)
    call(1).fail()
    await vi.advanceTimersByTimeAsync(2000)
    const third = eventStream()
    call(2).answer(third.response)
    await vi.advanceTimersByTimeAsync(5000)
    third.end()
    await vi.advanceTimersByTimeAsync(250)
    expect([calls.length, interruptions]).toEqual([4, 2])
    call(3).fail()
    await vi.advanceTimersByTimeAsync(999)
    expect(calls).toHaveLength(4)
    await vi.advanceTimersByTimeAsync(1)
    expect(calls).toHaveLength(5)
  })
})

it('waits while the gateway is away, and comes back with it', async () => {
  close = openStream({ slot: 'changes', path: '/api/stream', onMessage: () => undefined })
  probe = () => Promise.reject(new Error('away'))
  call(0).fail()
  await vi.advanceTimersByTimeAsync(120_000)
  expect([connection.get().state, calls.length]).toEqual(['offline', 1])
  probe = () => Promise.resolve(new Response())
  await vi.advanceTimersByTimeAsync(30_000)
  expect([connection.get().state, calls.length]).toEqual(['online', 2])
})

function broken(): ReadableStream {
  return new ReadableStream({ pull: (controller) => controller.error(new TypeError('network error')) })
}
