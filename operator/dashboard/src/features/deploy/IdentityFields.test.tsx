import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { allowPathsInRequests } from '~/api/testRequests'
import { permissionsQuery } from '~/api/usePermissions'
import { NO_FIELDS } from '~/lib/deploy/form'

import { IdentityFields } from './IdentityFields'

const RIC = { name: 'ric', exists: true, allowed: true, xapps: 2 }
const LIST_NAMESPACES = { verb: 'list', group: '', resource: 'namespaces', subresource: null }
const NOT_LISTED = 'If yours is not in the list, type its whole name'

let mayListNamespaces: boolean
let client: QueryClient

beforeEach(() => {
  allowPathsInRequests()
  mayListNamespaces = false
  client = new QueryClient()
  vi.stubGlobal('fetch', ({ url }: Request) => {
    if (new URL(url).pathname === '/api/namespaces')
      return Promise.resolve(Response.json({ total_count: 1, content: [RIC] }))
    const missing = mayListNamespaces ? [] : [LIST_NAMESPACES]
    const rights = [{ action: 'listNamespaces', allowed: mayListNamespaces, missing }]
    return Promise.resolve(Response.json({ rights }))
  })
})

afterEach(() => vi.unstubAllGlobals())

function show(namespace: string): void {
  render(
    <QueryClientProvider client={client}>
      <IdentityFields
        fields={{ ...NO_FIELDS, namespace }}
        problems={new Map()}
        onChange={vi.fn()}
        onBlur={vi.fn()}
        versionNote={undefined}
      />
    </QueryClientProvider>,
  )
}

it('says to those who may not list namespaces that another one can be typed', async () => {
  show('')
  await screen.findByText(NOT_LISTED)
})

it('offers all namespaces to those who may list them, and says nothing', async () => {
  mayListNamespaces = true
  show('')
  await waitFor(() => expect(client.getQueryData(permissionsQuery().queryKey)).toBeDefined())
  expect(screen.queryByText(NOT_LISTED)).toBeNull()
})

it('says what is in the namespace that was chosen', async () => {
  show('ric')
  await screen.findByText('2 xApps')
  expect(screen.queryByText(NOT_LISTED)).toBeNull()
})
