import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { allowPathsInRequests } from '~/api/testRequests'
import { NO_FIELDS } from '~/lib/deploy/form'

import { IdentityFields } from './IdentityFields'

const RIC = { name: 'ric', exists: true, allowed: true, xapps: 2 }

beforeEach(() => {
  allowPathsInRequests()
  vi.stubGlobal('fetch', () => Promise.resolve(Response.json({ total_count: 1, content: [RIC] })))
})

afterEach(() => vi.unstubAllGlobals())

function show(namespace: string): void {
  render(
    <QueryClientProvider client={new QueryClient()}>
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

it('says that a namespace which is not in the list can be typed', async () => {
  show('')
  await screen.findByText('If yours is not in the list, type its whole name')
})

it('says what is in the namespace that was chosen', async () => {
  show('ric')
  await screen.findByText('2 xApps')
  expect(screen.queryByText(/not in the list/)).toBeNull()
})
