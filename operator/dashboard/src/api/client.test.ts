// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { request } from '~/api/client'
import { connection, tryNow } from '~/api/connection'
import { sessionState, storeProof } from '~/api/session'
import { allowPathsInRequests } from '~/api/testRequests'
import { Problem } from '~/lib/problem'

const NOT_READY = JSON.stringify({ type: 'urn:xapp-operator:problem:not-ready', title: 'no', status: 503 })

let answer: Response

beforeEach(() => {
  vi.stubGlobal('fetch', () => Promise.resolve(answer))
  allowPathsInRequests()
  storeProof('proof')
})

afterEach(async () => {
  answer = new Response()
  tryNow()
  await vi.waitFor(() => expect(connection.get().state).toBe('online'))
  vi.unstubAllGlobals()
  localStorage.clear()
})

it('ends the session on a 401 of the gateway, and not on one of an xApp', async () => {
  answer = new Response('{}', { status: 401 })
  await expect(request('/api/xapps/ric/kpi/api/config')).rejects.toBeInstanceOf(Problem)
  await expect(request('/api/xapps/ric/kpi/proxy/kpi/80/x')).rejects.toBeInstanceOf(Problem)
  expect(sessionState.get()).toBe('signed-in')
  await expect(request('/api/xapps/ric/kpi')).rejects.toBeInstanceOf(Problem)
  expect(sessionState.get()).toBe('expired')
})

it('takes the gateway for starting by its own answer, and not by one of an xApp', async () => {
  const refuse = () => new Response(NOT_READY, { status: 503, headers: { 'Retry-After': '9999999999' } })
  answer = refuse()
  await expect(request('/api/xapps/ric/kpi/api/config')).rejects.toBeInstanceOf(Problem)
  expect(connection.get().state).toBe('online')
  answer = refuse()
  await expect(request('/api/xapps')).rejects.toMatchObject({ retryAfter: 3600 })
  expect(connection.get().state).toBe('starting')
})
