import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import type { Repository } from '~/api/queries/repositories'
import { allowPathsInRequests } from '~/api/testRequests'
import { NO_FIELDS } from '~/lib/deploy/form'

import { VersionField } from './RepositoryChart'

const REPOSITORY = { namespace: 'ric', name: 'acme', type: 'http', ready: true } as Repository

let versions: string[] = []
let searches: (string | null)[] = []

beforeEach(() => {
  versions = Array.from({ length: 240 }, (_, index) => `1.${239 - index}.0`)
  searches = []
  allowPathsInRequests()
  vi.stubGlobal('fetch', ({ url }: Request) => {
    const search = new URL(url).searchParams.get('search')
    searches.push(search)
    const found = versions.filter((version) => version.includes(search ?? ''))
    const content = found.slice(0, 100).map((version) => ({ version, appVersion: null }))
    return Promise.resolve(Response.json({ total_count: found.length, content }))
  })
})

afterEach(() => vi.unstubAllGlobals())

function Form({ version }: { version: string }) {
  const [chartVersion, setVersion] = useState(version)
  return (
    <VersionField
      fields={{ ...NO_FIELDS, chartName: 'hello', chartVersion }}
      problems={new Map()}
      onChange={vi.fn()}
      onBlur={vi.fn()}
      onVersion={setVersion}
      chosen={REPOSITORY}
    />
  )
}

async function open(version = '') {
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Form version={version} />
    </QueryClientProvider>,
  )
  await waitFor(() => expect(searches).toContain(null))
  return { user: userEvent.setup(), field: screen.getByRole('combobox') }
}

it('finds each of more versions than a list has room for, by a search', async () => {
  const { user, field } = await open()
  await screen.findByText(/Showing 100 of 240: type to search$/)
  await user.type(field, '1.7.')
  await screen.findByText(/Showing 1 of 240/)
  await user.click(await screen.findByRole('option', { name: '1.7.0' }))
  expect(field).toHaveProperty('value', '1.7.0')
})

it('offers the newest ones too beside an old one that is chosen, as on the page of an upgrade', async () => {
  const { user, field } = await open('1.7.0')
  await screen.findByText(/Showing 101 of 240/)
  await user.click(field)
  await user.keyboard('{ArrowDown}')
  const options = await screen.findAllByRole('option')
  expect([options[0]?.textContent, options[100]?.textContent]).toEqual(['1.239.0', '1.7.0'])
})

it('offers the newest ones beside a range, which is no search', async () => {
  const { user, field } = await open()
  await screen.findByText(/Showing 100 of 240/)
  await user.type(field, '>=1 <2')
  await waitFor(() => expect(screen.getAllByRole('option')).toHaveLength(100))
  expect(searches).toEqual([null])
})

it('asks once where all versions have room', async () => {
  versions = ['1.1.0', '1.0.0']
  const { user, field } = await open()
  await user.type(field, '0.9')
  await screen.findByRole('option', { name: '1.1.0' })
  expect(screen.queryByText(/Showing/)).toBeNull()
  expect(searches).toEqual([null])
})
