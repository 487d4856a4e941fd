import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import { afterEach, beforeEach, it, vi } from 'vitest'

import { allowPathsInRequests } from '~/api/testRequests'
import { OpenXAppContext, type OpenXApp } from '~/features/xapp/openXApp'

import { ReachPanel } from './ReachPanel'

beforeEach(() => {
  allowPathsInRequests()
  vi.stubGlobal('fetch', () => Promise.resolve(Response.json({ services: [], layers: [] })))
})

afterEach(() => vi.unstubAllGlobals())

it.each([
  ['xapp', null, 'Nothing is installed yet, so it has no address.'],
  ['xapp', 1, 'It has no Service, so it has no address.'],
  ['labels', null, 'It has no Service, so it has no address.'],
] as const)('says why an xApp of source %s with revision %s has no address', async (source, revision, sentence) => {
  const open = {
    id: { namespace: 'ric', name: 'a' },
    record: { source, release: { revision } },
    goneAt: null,
  } as unknown as OpenXApp
  render(
    <QueryClientProvider client={new QueryClient()}>
      <OpenXAppContext value={open}>
        <ReachPanel />
      </OpenXAppContext>
    </QueryClientProvider>,
  )
  await screen.findByText(sentence)
})
