import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { renderHook, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { allowPathsInRequests } from '~/api/testRequests'

import { repositoryAt, useRepositoryOf } from './useSavedRepository'

const URL_OF_ALL = 'https://charts.example/stable'
const saved = (namespace: string, name: string, url = URL_OF_ALL) => ({ namespace, name, url })
const wanted = { namespace: 'ric', repoName: 'stable', url: `${URL_OF_ALL}/` }

beforeEach(allowPathsInRequests)
afterEach(() => vi.unstubAllGlobals())

it('takes the repository of this URL, rather with this name, rather of this namespace', () => {
  const other = saved('other', 'stable')
  const renamed = saved('ric', 'renamed')
  const same = saved('ric', 'stable')
  expect(repositoryAt([other, renamed, same], wanted)).toBe(same)
  expect(repositoryAt([other, renamed], wanted)).toBe(renamed)
  expect(repositoryAt([other], wanted)).toBe(other)
  expect(repositoryAt([saved('ric', 'stable', `${URL_OF_ALL}/more`)], wanted)).toBeNull()
})

it('finds the saved repository of a deleted xApp by its URL', async () => {
  const asked = vi.fn(({ url }: Request) => {
    const search = new URL(url).searchParams.get('search')
    const content = search === URL_OF_ALL ? [saved('ric', 'stable')] : []
    return Promise.resolve(Response.json({ total_count: content.length, content }))
  })
  vi.stubGlobal('fetch', asked)
  const client = new QueryClient()
  const { result, rerender } = renderHook(useRepositoryOf, {
    initialProps: undefined as Parameters<typeof useRepositoryOf>[0],
    wrapper: ({ children }) => <QueryClientProvider client={client}>{children}</QueryClientProvider>,
  })
  expect(result.current).toBeNull()
  expect(asked).not.toHaveBeenCalled()
  rerender(wanted)
  await waitFor(() => expect(result.current).toBe('ric/stable'))
})
