import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import { act, renderHook, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { uninstallXApp } from '~/api/queries/xappActions'
import { xappsQuery } from '~/api/queries/xapps'
import { allowPathsInRequests } from '~/api/testRequests'
import { useLiveList } from '~/features/xapps/useLiveList'
import { fieldErrors } from '~/lib/problem'
import type { Query } from '~/lib/query'

const gone = {
  type: 'urn:xapp-operator:problem:malformed-request',
  title: 'Malformed request',
  errors: [{ field: 'page', message: 'must be between 1 and 1 (the last page), not "2"' }],
}

let isGone = false
let isRefused = false
let isHeld = false
let rows: string[] = []
/** What was requested, in its order. */
let asked: string[] = []
let send: (event: string, data: object) => void = () => undefined

beforeEach(() => {
  isGone = isRefused = isHeld = false
  asked = []
  rows = ['a', 'b', 'c']
  allowPathsInRequests()
  vi.stubGlobal('fetch', ({ url, method }: Request) => {
    const { pathname } = new URL(url)
    asked.push(pathname)
    if (pathname === '/api/stream') {
      if (isHeld) return new Promise(() => undefined)
      return Promise.resolve(isRefused ? Response.json(gone, { status: 400 }) : changes())
    }
    if (method === 'DELETE') return Promise.resolve(Response.json({}, { status: isGone ? 404 : 202 }))
    const content = rows.map((uid) => ({ uid }))
    const page = { page: 2, last_page: 2, is_last_page: true, total_count: 50 + rows.length, content }
    return Promise.resolve(isGone ? Response.json(gone, { status: 400 }) : Response.json(page))
  })
})

afterEach(() => vi.unstubAllGlobals())

function changes(): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  send = (event, data) =>
    void writer.write(new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`))
  return new Response(readable)
}

function renderList(filters: Query, isBusy: () => boolean, onGone: (uid: string) => void = () => undefined) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 5000 } } })
  const initialProps = { filters }
  return renderHook(
    ({ filters }: typeof initialProps) => {
      const list = xappsQuery({ ...filters, page: 2 })
      const live = useLiveList({ list, filters, isBusy, onGone })
      return { ...live, query: useQuery({ ...list, enabled: live.isReady }) }
    },
    {
      initialProps,
      wrapper: ({ children }) => <QueryClientProvider client={client}>{children}</QueryClientProvider>,
    },
  )
}

async function openList(isBusy: () => boolean, onGone?: (uid: string) => void) {
  const { result, rerender } = renderList({}, isBusy, onGone)
  await waitFor(() => expect(result.current.query.data?.content).toHaveLength(3), { timeout: 3000 })
  const shown = () => result.current.query.data?.content.map(({ uid }) => uid).join(' ')
  return { result, rerender, shown }
}

it.each([
  ['at once', false],
  ['when the reader who is at work in the table wants it', true],
])('shows a refusal of the list after missed changes %s', async (_, isBusy) => {
  const { result } = await openList(() => isBusy)
  isGone = true
  send('reset', {})
  if (isBusy) {
    await waitFor(() => expect(result.current.pending).toBe('The list may have changed'))
    expect(result.current.query.error).toBeNull()
    act(() => result.current.show())
  }
  await waitFor(() => expect(fieldErrors(result.current.query.error).has('page')).toBe(true))
})

it('lets only changes wait that move rows which are shown', { timeout: 15_000 }, async () => {
  const { result, shown } = await openList(() => true)
  // One of a later page, one of the same page below all rows, and one that is gone from a later page.
  rows = ['a', 'b', 'c', 'd']
  send('added', { uid: 'z' })
  send('added', { uid: 'd' })
  send('deleted', { uid: 'y' })
  await waitFor(() => expect(shown()).toBe('a b c d'), { timeout: 3000 })
  expect(result.current.pending).toBeNull()

  rows = ['a', 'aa', 'c', 'd']
  send('deleted', { uid: 'b' })
  await waitFor(() => expect(result.current.pending).toBe('1 gone'))
  send('added', { uid: 'aa' })
  await waitFor(() => expect(result.current.pending).toBe('1 new, 1 gone'), { timeout: 3000 })
  expect(shown()).toBe('a b c d')

  // It says nothing any more once the rows are read for another reason.
  act(() => result.current.show())
  await waitFor(() => expect(shown()).toBe('a aa c d'))
  expect(result.current.pending).toBeNull()
})

it('takes a row out at once that the reader removed', { timeout: 15_000 }, async () => {
  const { result, shown } = await openList(() => true)
  send('deleted', { uid: 'a' })
  await waitFor(() => expect(result.current.pending).toBe('1 gone'))
  await uninstallXApp('ric', 'bee', 'b')
  rows = ['c', 'd']
  send('deleted', { uid: 'b' })
  await waitFor(() => expect(shown()).toBe('a c'))
  expect(result.current.query.data?.total_count).toBe(52)
  expect(result.current.pending).toBe('1 gone')
})

it('takes out again what an answer brought back that was under way', { timeout: 15_000 }, async () => {
  const { result, shown } = await openList(() => true)
  await uninstallXApp('ric', 'bee', 'b')
  send('deleted', { uid: 'b' })
  await waitFor(() => expect(shown()).toBe('a c'))
  act(() => result.current.show())
  await waitFor(() => expect(shown()).toBe('a b c'))
  rows = ['a', 'c']
  await waitFor(() => expect(shown()).toBe('a c'), { timeout: 3000 })
  expect(result.current.pending).toBeNull()
})

it('reads the list once, after its stream has begun, for each filter', async () => {
  const { result, rerender } = await openList(() => false)
  expect(asked).toEqual(['/api/stream', '/api/xapps'])
  const owned = { owner: 'jane' }
  rows = ['d']
  rerender({ filters: owned })
  expect(result.current.query.isPlaceholderData).toBe(true)
  await waitFor(() => expect(result.current.query.data?.content).toEqual([{ uid: 'd' }]))
  // Back to filters whose rows are known: they may have changed since.
  rows = ['e']
  rerender({ filters: {} })
  await waitFor(() => expect(result.current.query.data?.content).toEqual([{ uid: 'e' }]))
  expect(asked).toEqual(['/api/stream', '/api/xapps', '/api/stream', '/api/xapps', '/api/stream', '/api/xapps'])
})

it('reads the list without its stream if a proxy holds that back', async () => {
  isHeld = true
  const { shown } = await openList(() => false)
  expect(shown()).toBe('a b c')
  expect(asked).toEqual(['/api/stream', '/api/xapps'])
})

it('reads the list at once if its stream is refused', async () => {
  isRefused = true
  vi.useFakeTimers()
  const { unmount } = renderList({}, () => false)
  await act(() => vi.advanceTimersByTimeAsync(100))
  expect(asked).toEqual(['/api/stream', '/api/xapps'])
  unmount()
  vi.useRealTimers()
})

it('tells which xApps are gone, for the selection', async () => {
  const gone: string[] = []
  await openList(
    () => true,
    (uid) => gone.push(uid),
  )
  send('modified', { uid: 'a' })
  send('deleted', { uid: 'b' })
  send('deleted', { uid: 'of another page' })
  await waitFor(() => expect(gone).toEqual(['b', 'of another page']))
})

it('tells whether an xApp was there when it was uninstalled', async () => {
  expect(await uninstallXApp('ric', 'bee', 'b')).toBe(true)
  isGone = true
  expect(await uninstallXApp('ric', 'bee', 'b')).toBe(false)
})
