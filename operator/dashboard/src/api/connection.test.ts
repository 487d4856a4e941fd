// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { connection, gatewayAnswered, gatewayHeard, onReconnect, watchGateway } from '~/api/connection'

const SILENT_MILLISECONDS = 18_000

let answer: () => Promise<Response> = () => Promise.reject(new Error('away'))
let asked = 0
let stop: () => void = () => undefined

function setHidden(hidden: boolean): void {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
  document.dispatchEvent(new Event('visibilitychange'))
}

beforeEach(() => {
  vi.useFakeTimers()
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
  asked = 0
  answer = () => Promise.resolve(new Response())
  vi.stubGlobal('fetch', () => {
    asked += 1
    return answer()
  })
  gatewayAnswered()
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
  let fail: (error: Error) => void = () => undefined
  answer = () => new Promise((_, reject) => (fail = reject))
  await vi.advanceTimersByTimeAsync(SILENT_MILLISECONDS + 5000)
  expect(asked).toBe(1)
  gatewayAnswered()
  fail(new Error('timed out'))
  await vi.advanceTimersByTimeAsync(0)
  expect(connection.get().state).toBe('online')
})
