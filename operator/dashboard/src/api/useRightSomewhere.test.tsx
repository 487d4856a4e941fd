import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { renderHook, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { allowPathsInRequests } from './testRequests'
import { useRightSomewhere } from './useRightSomewhere'

const MISSING = [{ verb: 'create', group: 'xapp-operator.io', resource: 'xapps', subresource: null }]
let allowedEverywhere = false
let namespaces: { name: string; allowed: boolean }[] = []
let asked: string[] = []

beforeEach(() => {
  asked = []
  allowPathsInRequests()
  vi.stubGlobal('fetch', ({ url }: Request) => {
    const { pathname } = new URL(url)
    asked.push(pathname)
    return Promise.resolve(
      pathname === '/api/permissions'
        ? Response.json({ rights: [{ action: 'deploy', allowed: allowedEverywhere, missing: MISSING }] })
        : Response.json({ total_count: namespaces.length, content: namespaces }),
    )
  })
})

afterEach(() => vi.unstubAllGlobals())

function rightToDeploy(namespace?: string) {
  const client = new QueryClient()
  const { result } = renderHook(() => useRightSomewhere('deploy', namespace), {
    wrapper: ({ children }) => <QueryClientProvider client={client}>{children}</QueryClientProvider>,
  })
  const isRead = () => client.isFetching() === 0 && asked.length > 0
  return { result, isRead }
}

it('refuses who may do it in no namespace, and says which right is missing', async () => {
  allowedEverywhere = false
  namespaces = [{ name: 'ric', allowed: false }]
  const { result } = rightToDeploy()
  expect(result.current.allowed).toBe(true)
  await waitFor(() => expect(result.current).toEqual({ allowed: false, reason: 'Needs: create xapps' }))
})

it('lets those go on who may do it in one namespace, or of whom that is not known', async () => {
  allowedEverywhere = false
  for (const found of [
    [
      { name: 'ric', allowed: false },
      { name: 'mine', allowed: true },
    ],
    [],
  ]) {
    namespaces = found
    asked = []
    const { result, isRead } = rightToDeploy()
    await waitFor(() => expect(asked).toContain('/api/namespaces'))
    await waitFor(() => expect(isRead()).toBe(true))
    expect(result.current.allowed).toBe(true)
  }
})

it('asks for no namespaces where the permissions say enough', async () => {
  allowedEverywhere = true
  const everywhere = rightToDeploy()
  await waitFor(() => expect(everywhere.isRead()).toBe(true))
  allowedEverywhere = false
  const { result } = rightToDeploy('ric')
  await waitFor(() => expect(result.current).toEqual({ allowed: false, reason: 'Needs: create xapps in ric' }))
  expect(asked).toEqual(['/api/permissions', '/api/permissions'])
})
