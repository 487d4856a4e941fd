import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { act, renderHook, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { changesHeardAt } from '~/api/changes'
import { uninstallXApp } from '~/api/queries/xappActions'
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
let rows: string[] = []
/** The id of the newest change that the list contains; '': the gateway does not say it. */
let newest = ''
/** What was requested, in its order; a stream with the id that it goes on from. */
let asked: string[] = []
let send: (event: string, data: object) => void = () => undefined
let breakStream: () => void = () => undefined
/** Holds back the next answer of the list until the function is called that it returns. */
let holdList: () => () => void = () => () => undefined

beforeEach(() => {
  isGone = false
  asked = []
  rows = ['a', 'b', 'c']
  newest = 'id-1'
  let held = Promise.resolve()
  holdList = () => {
    let release: () => void = () => undefined
    held = new Promise((resolve) => (release = resolve))
    return release
  }
  allowPathsInRequests()
  vi.stubGlobal('fetch', async ({ url, method, headers }: Request) => {
    const { pathname } = new URL(url)
    const after = headers.get('Last-Event-ID')
    asked.push(after === null ? pathname : `${pathname} ${after}`)
    if (pathname === '/api/stream') return changes()
    if (method === 'DELETE') return Response.json({}, { status: isGone ? 404 : 202 })
    const content = rows.map((uid) => ({ uid }))
    const page = { page: 2, last_page: 2, is_last_page: true, total_count: 50 + rows.length, content }
    const answer = isGone
      ? Response.json(gone, { status: 400 })
      : Response.json(page, { headers: newest === '' ? {} : { 'Last-Event-ID': newest } })
    const until = held
    held = Promise.resolve()
    await until
    return answer
  })
})

afterEach(() => vi.unstubAllGlobals())

function changes(): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  send = (event, data) =>
    void writer.write(new TextEncoder().encode(`event: ${event}\nid: ${event}\ndata: ${JSON.stringify(data)}\n\n`))
  breakStream = () => void writer.close()
  return new Response(readable)
}

function renderList(filters: Query, isBusy: () => boolean, onGone: (uid: string) => void = () => undefined) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 5000 } } })
  const initialProps: { filters: Query; page?: number } = { filters }
  return renderHook(
    ({ filters, page = 2 }: typeof initialProps) =>
      useLiveList({ query: { ...filters, page }, filters, isBusy, onGone }),
    {
      initialProps,
      wrapper: ({ children }) => <QueryClientProvider client={client}>{children}</QueryClientProvider>,
    },
  )
}

async function openList(isBusy: () => boolean, onGone?: (uid: string) => void) {
  const { result, rerender } = renderList({}, isBusy, onGone)
  await waitFor(() => expect(result.current.answer.data?.content).toHaveLength(3), { timeout: 3000 })
  const shown = () => result.current.answer.data?.content.map(({ uid }) => uid).join(' ')
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
    expect(result.current.answer.error).toBeNull()
    act(() => result.current.show())
  }
  await waitFor(() => expect(fieldErrors(result.current.answer.error).has('page')).toBe(true))
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

it.each([
  ['at once', false],
  ['when the reader who is at work in the table wants it', true],
])('sorts rows anew %s when what they are sorted by changes', { timeout: 15_000 }, async (_, isBusy) => {
  const { result } = renderList({ sort: 'phase' }, () => isBusy)
  const shown = () => result.current.answer.data?.content.map(({ uid }) => uid).join(' ')
  await waitFor(() => expect(shown()).toBe('a b c'), { timeout: 3000 })
  rows = ['b', 'c', 'a']
  send('modified', { uid: 'a', phase: 'Failed' })
  if (isBusy) {
    await waitFor(() => expect(result.current.pending).toBe('The list has changed'), { timeout: 3000 })
    expect(shown()).toBe('a b c')
    act(() => result.current.show())
  }
  await waitFor(() => expect(shown()).toBe('b c a'), { timeout: 3000 })
})

it('does not read the list again for changes that move no row', { timeout: 15_000 }, async () => {
  const { result } = renderList({ sort: 'phase' }, () => false)
  await waitFor(() => expect(result.current.isReady).toBe(true), { timeout: 3000 })
  send('modified', { uid: 'a', team: 'ran' })
  send('modified', { uid: 'of another page', phase: 'Failed' })
  send('added', { uid: 'd' }) // for this, it is read again
  await waitFor(() => expect(asked.filter((path) => path === '/api/xapps')).toHaveLength(2), { timeout: 3000 })
})

it('takes a row out at once that the reader removed', { timeout: 15_000 }, async () => {
  const { result, shown } = await openList(() => true)
  send('deleted', { uid: 'a' })
  await waitFor(() => expect(result.current.pending).toBe('1 gone'))
  await uninstallXApp('ric', 'bee', 'b')
  rows = ['c', 'd']
  send('deleted', { uid: 'b' })
  await waitFor(() => expect(shown()).toBe('a c'))
  expect(result.current.answer.data?.total_count).toBe(52)
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

it('reads the list once for each filter, and its stream goes on from there', async () => {
  const { result, rerender } = await openList(() => false)
  await waitFor(() => expect(asked).toEqual(['/api/xapps', '/api/stream id-1']))
  const owned = { owner: 'jane' }
  rows = ['d']
  newest = 'id-2'
  rerender({ filters: owned })
  expect(result.current.answer.isPlaceholderData).toBe(true)
  expect(result.current.isReady).toBe(false)
  await waitFor(() => expect(result.current.answer.data?.content).toEqual([{ uid: 'd' }]))
  await waitFor(() => expect(asked.slice(2)).toEqual(['/api/xapps', '/api/stream id-2']))
  // Back to filters whose rows are known: they may have changed since.
  rows = ['e']
  newest = 'id-3'
  rerender({ filters: {} })
  await waitFor(() => expect(result.current.answer.data?.content).toEqual([{ uid: 'e' }]))
  await waitFor(() => expect(asked.slice(4)).toEqual(['/api/xapps', '/api/stream id-3']))
})

it('keeps its stream when another page is shown', async () => {
  const { result, rerender, shown } = await openList(() => false)
  await waitFor(() => expect(asked).toEqual(['/api/xapps', '/api/stream id-1']))
  rows = ['d', 'e']
  rerender({ filters: {}, page: 3 })
  await waitFor(() => expect(shown()).toBe('d e'))
  send('modified', { uid: 'e', owner: 'jane' })
  await waitFor(() => expect(result.current.answer.data?.content[1]?.owner).toBe('jane'))
  // A page that was shown before heard of no change since: it is read again.
  rows = ['a', 'b']
  rerender({ filters: {}, page: 2 })
  await waitFor(() => expect(shown()).toBe('a b'))
  expect(asked.slice(2)).toEqual(['/api/xapps', '/api/xapps'])
})

it('keeps a change that overtakes the answer with the rows as they were before', async () => {
  const onGone = vi.fn()
  const { result, rerender } = await openList(() => false, onGone)
  rows = ['d', 'e']
  const release = holdList()
  rerender({ filters: {}, page: 3 })
  await waitFor(() => expect(asked).toEqual(['/api/xapps', '/api/stream id-1', '/api/xapps']))
  send('modified', { uid: 'e', owner: 'jane' })
  send('modified', { uid: 'b', owner: 'paul' })
  send('deleted', { uid: 'of another page' })
  await waitFor(() => expect(onGone).toHaveBeenCalled())
  release()
  await waitFor(() => expect(result.current.answer.data?.content).toEqual([{ uid: 'd' }, { uid: 'e', owner: 'jane' }]))
})

it('opens no stream for filters that were left before their answer', async () => {
  const { rerender, shown } = await openList(() => false)
  await waitFor(() => expect(asked).toHaveLength(2))
  const release = holdList()
  rerender({ filters: { owner: 'jane' } })
  rows = ['e']
  newest = 'id-3'
  rerender({ filters: { owner: 'paul' } })
  await waitFor(() => expect(shown()).toBe('e'))
  release()
  await waitFor(() => expect(asked.at(-1)).toBe('/api/stream id-3'))
  expect(asked.filter((path) => path.startsWith('/api/stream'))).toEqual(['/api/stream id-1', '/api/stream id-3'])
})

it('resumes a broken stream after what it heard last, without reading the list', async () => {
  const { shown } = await openList(() => false)
  await waitFor(() => expect(asked).toHaveLength(2))
  send('modified', { uid: 'a' })
  breakStream()
  await waitFor(() => expect(asked.slice(2)).toEqual(['/api/stream modified']), { timeout: 3000 })
  expect(shown()).toBe('a b c')
})

it('reads the list again if it is too old for its stream', async () => {
  const { shown } = await openList(() => false)
  await waitFor(() => expect(asked).toEqual(['/api/xapps', '/api/stream id-1']))
  rows = ['a', 'b', 'c', 'd']
  send('reset', {})
  await waitFor(() => expect(shown()).toBe('a b c d'))
  expect(asked.slice(2)).toEqual(['/api/xapps'])
})

it('reads the list again if it does not say where its stream goes on', async () => {
  newest = ''
  await openList(() => false)
  await waitFor(() => expect(asked).toEqual(['/api/xapps', '/api/stream', '/api/xapps']))
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

it('knows when its stream was heard last, and nothing of that for other filters', async () => {
  const { result, rerender } = await openList(() => false)
  await waitFor(() => expect(asked).toHaveLength(2))
  await waitFor(() => expect(changesHeardAt.get()).toBeGreaterThan(Date.now() - 30_000))
  changesHeardAt.set(1)
  send('modified', { uid: 'a' })
  await waitFor(() => expect(changesHeardAt.get()).toBeGreaterThan(Date.now() - 30_000))
  expect(result.current.readAt()).toBeGreaterThan(Date.now() - 30_000)
  const release = holdList()
  rerender({ filters: { owner: 'paul' } })
  expect(changesHeardAt.get()).toBe(0)
  release()
  await waitFor(() => expect(changesHeardAt.get()).toBeGreaterThan(0))
})
