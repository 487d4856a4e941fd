import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import { act, renderHook } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { configQuery } from '~/api/queries/values'
import { healthQuery } from '~/api/queries/xappDetails'
import { allowPathsInRequests } from '~/api/testRequests'
import { useXAppRecord } from '~/features/xapp/useXAppRecord'
import { xappOf } from '~/lib/xapp/samples'

const ID = { namespace: 'ric', name: 'acme-ran-kpi' }
const SECONDS = 6

const reads = { record: 0, health: 0, config: 0 }
let stored: object = {}
let tell: (event: string) => Promise<void>

beforeEach(() => {
  vi.useFakeTimers()
  allowPathsInRequests()
  stored = {}
  change({})
  Object.assign(reads, { record: 0, health: 0, config: 0 })
  vi.stubGlobal('fetch', ({ url }: Request) => {
    const { pathname } = new URL(url)
    if (pathname === '/api/stream') return Promise.resolve(changes())
    reads[pathname.endsWith('/health') ? 'health' : pathname.endsWith('/config') ? 'config' : 'record'] += 1
    return Promise.resolve(Response.json(stored))
  })
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

function change(part: object): void {
  stored = { ...xappOf(), generation: 1, services: [], ...stored, ...part }
}

function changes(): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  tell = (event) => writer.write(new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(stored)}\n\n`))
  return new Response(readable)
}

async function open() {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 5000 } } })
  const view = renderHook(
    () => {
      useQuery(healthQuery(ID))
      useQuery(configQuery(ID.namespace, ID.name))
      return useXAppRecord(ID)
    },
    { wrapper: ({ children }) => <QueryClientProvider client={client}>{children}</QueryClientProvider> },
  )
  await pass(3000)
  return view
}

async function pass(milliseconds: number): Promise<void> {
  await act(() => vi.advanceTimersByTimeAsync(milliseconds))
}

async function changeOften(part: (count: number) => object): Promise<void> {
  for (let count = 1; count <= SECONDS * 10; count += 1) {
    change(part(count))
    void tell('modified')
    await pass(100)
  }
  await pass(2000)
}

it('reads a busy xApp once a second at most, and its last state in the end', async () => {
  const { result, unmount } = await open()
  const before = { ...reads }
  await changeOften((count) => ({ message: `change ${count}`, conditions: [{ type: 'Ready', message: `${count}` }] }))
  expect(reads.record - before.record).toBeGreaterThan(1)
  expect(reads.record - before.record).toBeLessThanOrEqual(SECONDS + 2)
  expect({ ...reads, record: 0 }).toEqual({ ...before, record: 0 })
  expect(result.current.query.data).toEqual(stored)
  unmount()
})

it('reads health and configuration when the record tells of other ones, or changes were missed', async () => {
  const { unmount } = await open()
  let before = { ...reads }
  change({ phase: 'Failed', health: 'Degraded', ready: false })
  void tell('modified')
  await pass(2000)
  expect(reads).toEqual({ record: before.record + 1, health: before.health + 1, config: before.config + 1 })

  before = { ...reads }
  change({ reason: 'CrashLoopBackOff' })
  void tell('modified')
  await pass(2000)
  expect(reads).toEqual({ record: before.record + 1, health: before.health + 1, config: before.config })

  before = { ...reads }
  change({ generation: 2 })
  void tell('modified')
  await pass(2000)
  expect(reads).toEqual({ record: before.record + 1, health: before.health + 1, config: before.config + 1 })

  before = { ...reads }
  void tell('reset')
  await pass(2000)
  expect(reads).toEqual({ record: before.record + 1, health: before.health + 1, config: before.config + 1 })
  unmount()
})
