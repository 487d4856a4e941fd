// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { connection, gatewayAnswered, reconnected } from '~/api/connection'
import { sessionState } from '~/api/session'
import { openStream } from '~/api/stream'
import { allowPathsInRequests } from '~/api/testRequests'

interface Call {
  request: Request
  answer: (response: Response) => void
}

let calls: Call[] = []
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
  vi.stubGlobal('fetch', (request: Request) => new Promise<Response>((answer) => calls.push({ request, answer })))
  allowPathsInRequests()
  gatewayAnswered()
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
    const body = JSON.stringify({ type: 'urn:xapp-operator:problem:not-ready', title: 'Not ready' })
    call(0).answer(new Response(body, { status: 503 }))
    await settle()
    expect(connection.get().state).toBe('starting')
  })
})
