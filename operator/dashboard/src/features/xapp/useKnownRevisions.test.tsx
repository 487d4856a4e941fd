import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render, renderHook, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import type { RevisionRow } from '~/api/queries/xappDetails'
import type { PageOf } from '~/api/queries/xapps'
import { allowPathsInRequests } from '~/api/testRequests'
import { useKnownRevisions, type AskedRevisions } from '~/features/xapp/useKnownRevisions'

const ID = { namespace: 'ric-xapps', name: 'acme-ran-hello' }
const KEPT_BY_HELM = new Set(['1', '2'])

beforeEach(allowPathsInRequests)
afterEach(() => vi.unstubAllGlobals())

function historyPage(page: number, last_page: number, ...numbers: number[]): PageOf<RevisionRow> {
  const content = numbers.map((revision) => ({ revision }) as RevisionRow)
  return { page, last_page, is_last_page: page === last_page, total_count: 0, content }
}

function open(asked: AskedRevisions, history: PageOf<RevisionRow>) {
  const requested: string[] = []
  vi.stubGlobal('fetch', async ({ url }: Request) => {
    const revision = new URL(url).pathname.split('/').at(-1) ?? ''
    requested.push(revision)
    return Promise.resolve(new Response('{}', { status: KEPT_BY_HELM.has(revision) ? 200 : 404 }))
  })
  const onDrop = vi.fn()
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } })
  const view = renderHook(
    (props: { asked: AskedRevisions; history: PageOf<RevisionRow> }) =>
      useKnownRevisions(ID, props.asked, props.history, onDrop),
    {
      initialProps: { asked, history },
      wrapper: ({ children }) => <QueryClientProvider client={client}>{children}</QueryClientProvider>,
    },
  )
  return { ...view, onDrop, requested, noteText: () => render(view.result.current.note).container.textContent }
}

it('drops revisions that a whole history does not have, without a request', () => {
  const { result, rerender, onDrop, requested, noteText } = open({ revision: 77, with: 3 }, historyPage(1, 1, 2, 1))
  const nothing = { revision: null, with: null }
  expect(onDrop).toHaveBeenCalledExactlyOnceWith(nothing)
  expect(result.current.shown).toEqual(nothing)
  rerender({ asked: nothing, history: historyPage(1, 1, 2, 1) })
  expect(noteText()).toBe('Not in the history: revision 77, revision 3. Only the newest revisions are kept.')
  expect(requested).toEqual([])

  rerender({ asked: { revision: 2, with: 1 }, history: historyPage(1, 1, 2, 1) })
  expect(result.current).toEqual({ shown: { revision: 2, with: 1 }, note: null })
})

it('reads those that another page may have', async () => {
  const { result, onDrop, requested } = open({ revision: 2, with: 3 }, historyPage(1, 2, 9, 8))
  expect(result.current.shown.revision).toBeNull()
  await waitFor(() => expect(result.current.shown).toEqual({ revision: 2, with: null }))
  expect(onDrop).toHaveBeenCalledExactlyOnceWith({ revision: 2, with: null })
  expect(requested).toEqual(['2', '3'])
})

it.each([
  [
    { revision: null, with: 2 },
    { revision: null, with: null },
  ],
  [
    { revision: 2, with: 2 },
    { revision: 2, with: null },
  ],
])('drops a second revision that cannot be compared: %o', (asked, used) => {
  const { result, onDrop, noteText } = open(asked, historyPage(1, 1, 2, 1))
  expect(onDrop).toHaveBeenCalledExactlyOnceWith(used)
  expect(result.current.shown).toEqual(used)
  expect(noteText()).toBe('Not used: with=2. To compare, the address must name two revisions.')
})

it('keeps what is shown when Helm removes its revision', () => {
  const asked = { revision: 2, with: 1 }
  const { result, rerender, onDrop } = open(asked, historyPage(1, 1, 2, 1))
  rerender({ asked, history: historyPage(1, 1, 3, 2) })
  expect(result.current.shown).toEqual(asked)
  expect(onDrop).not.toHaveBeenCalled()
})
