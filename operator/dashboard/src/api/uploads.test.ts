// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { connection, gatewayAnswered } from '~/api/connection'
import { storeProof } from '~/api/session'
import { allowPathsInRequests } from '~/api/testRequests'
import { upload, uploading } from '~/api/uploads'
import { NotConnected, Problem } from '~/lib/problem'

/** The request that a test answers. */
class FakeRequest {
  static last: FakeRequest
  upload: { onprogress?: (event: { loaded: number; total: number }) => void; onloadend?: () => void } = {}
  headers = new Headers()
  opened: string[] = []
  sent: unknown
  status = 0
  statusText = ''
  responseText = ''
  answered = ''
  onload?: () => void
  onerror?: () => void
  onabort?: () => void

  constructor() {
    FakeRequest.last = this
  }
  open(...how: string[]): void {
    this.opened = how
  }
  setRequestHeader(name: string, value: string): void {
    this.headers.set(name, value)
  }
  send(body: unknown): void {
    this.sent = body
  }
  abort(): void {
    this.upload.onloadend?.()
    this.onabort?.()
  }
  getAllResponseHeaders(): string {
    return this.answered
  }
  answer(status: number, body: string, headers = ''): void {
    Object.assign(this, { status, responseText: body, answered: headers })
    this.onload?.()
  }
}

const body = new FormData()

beforeEach(() => {
  vi.stubGlobal('XMLHttpRequest', FakeRequest)
  allowPathsInRequests()
  gatewayAnswered()
  storeProof('proof')
})

afterEach(() => {
  vi.unstubAllGlobals()
  localStorage.clear()
  gatewayAnswered()
})

it('sends the proof of the session, and tells how much is sent', async () => {
  const answer = upload('/api/charts?dryRun=true', {
    method: 'POST',
    body,
    headers: new Headers({ 'If-Match': '"3"' }),
  })
  const sending = FakeRequest.last
  expect(sending.opened).toEqual(['POST', 'http://gateway/api/charts?dryRun=true'])
  expect(Object.fromEntries(sending.headers)).toEqual({ 'x-session-proof': 'proof', 'if-match': '"3"' })
  expect(sending.sent).toBe(body)
  sending.upload.onprogress?.({ loaded: 10, total: 40 })
  expect(uploading.get()).toEqual({ sent: 10, total: 40 })
  sending.upload.onloadend?.()
  expect(uploading.get()).toBeNull()
  sending.answer(200, '{"name":"hello"}', 'content-type: application/json\r\n')
  const response = await answer
  expect(response.headers.get('Content-Type')).toBe('application/json')
  expect(await response.json()).toEqual({ name: 'hello' })
})

it('fails as other requests do', async () => {
  const refused = upload('/api/charts?dryRun=true', { method: 'POST', body })
  FakeRequest.last.answer(503, '{"type":"urn:problem:not-ready","title":"Starting"}', 'retry-after: 7\r\n')
  await expect(refused).rejects.toMatchObject({ title: 'Starting', retryAfter: 7 })
  await expect(refused).rejects.toBeInstanceOf(Problem)
  expect(connection.get().state).toBe('starting')

  gatewayAnswered()
  const cut = upload('/api/deployment/xapp', { method: 'POST', body })
  FakeRequest.last.onerror?.()
  await expect(cut).rejects.toBeInstanceOf(NotConnected)
  await expect(cut).rejects.toThrow('It may have accepted this')
  expect(connection.get().state).toBe('offline')
})

it('ends when it is not wanted any more', async () => {
  const controller = new AbortController()
  const replaced = upload('/api/charts?dryRun=true', { method: 'POST', body, signal: controller.signal })
  FakeRequest.last.upload.onprogress?.({ loaded: 10, total: 40 })
  controller.abort()
  await expect(replaced).rejects.toThrow()
  expect(uploading.get()).toBeNull()
})
