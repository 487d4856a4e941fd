import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import { act, renderHook, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { uninstallXApp, xappsQuery } from '~/api/queries/xapps'
import { allowPathsInRequests } from '~/api/testRequests'
import { useLiveList } from '~/features/xapps/useLiveList'
import { fieldErrors } from '~/lib/problem'

const LIST = xappsQuery({ page: 2 })
const gone = {
  type: 'urn:xapp-operator:problem:malformed-request',
  title: 'Malformed request',
  errors: [{ field: 'page', message: 'must be between 1 and 1 (the last page), not "2"' }],
}

let isGone = false
let rows: string[] = []
let send: (event: string, data: object) => void = () => undefined

beforeEach(() => {
  isGone = false
  rows = ['a', 'b', 'c']
  allowPathsInRequests()
  vi.stubGlobal('fetch', ({ url, method }: Request) => {
    if (new URL(url).pathname === '/api/stream') return Promise.resolve(changes())
    if (method === 'DELETE') return Promise.resolve(Response.json({}, { status: 202 }))
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

async function openList(isBusy: () => boolean) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } })
  const { result } = renderHook(() => ({ ...useLiveList(LIST, {}, isBusy), query: useQuery(LIST) }), {
    wrapper: ({ children }) => <QueryClientProvider client={client}>{children}</QueryClientProvider>,
  })
  await waitFor(() => expect(result.current.query.data?.content).toHaveLength(3))
  const shown = () => result.current.query.data?.content.map(({ uid }) => uid).join(' ')
  return { result, shown }
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
