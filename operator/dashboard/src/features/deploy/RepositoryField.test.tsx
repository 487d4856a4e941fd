import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { allowPathsInRequests } from '~/api/testRequests'
import { RepositoryField } from '~/features/deploy/RepositoryField'
import { useSavedRepository } from '~/features/deploy/useSavedRepository'

const NAMES = Array.from({ length: 140 }, (_, index) => `repo-${index + 1000}`)

let shown: string[] = NAMES

function record(name: string) {
  return { namespace: 'ric', name, url: `https://charts.example/${name}`, ready: true, message: null }
}

beforeEach(() => {
  shown = NAMES
  allowPathsInRequests()
  vi.stubGlobal('fetch', ({ url }: Request) => {
    const { pathname, searchParams } = new URL(url)
    if (pathname.endsWith('/gone')) return Promise.resolve(Response.json({ status: 404 }, { status: 404 }))
    if (pathname !== '/api/repositories')
      return Promise.resolve(Response.json(record(pathname.split('/').at(-1) ?? '')))
    const found = shown.filter((name) => name.includes(searchParams.get('search') ?? ''))
    return Promise.resolve(Response.json({ total_count: found.length, content: found.slice(0, 100).map(record) }))
  })
})

afterEach(() => vi.unstubAllGlobals())

function Form({ start = '' }: { start?: string }) {
  const [repository, setRepository] = useState(start)
  const chosen = useSavedRepository(repository, true)
  return (
    <>
      <RepositoryField repository={repository} chosen={chosen} onRepository={setRepository} />
      <p>{`Chosen: ${chosen?.url ?? 'none'}`}</p>
    </>
  )
}

function show(start?: string): void {
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Form {...(start === undefined ? {} : { start })} />
    </QueryClientProvider>,
  )
}

it('finds each of more repositories than a list has room for, by a search', async () => {
  show()
  const user = userEvent.setup()
  const field = await screen.findByRole('combobox', { name: 'Repository' })
  await screen.findByText('100 of 140 are shown: type to search')
  await user.type(field, '1139')
  await user.click(await screen.findByRole('option', { name: /^repo-1139/ }))
  await screen.findByText('Chosen: https://charts.example/repo-1139')
  await user.tab()
  expect(field).toHaveProperty('value', 'repo-1139 (ric)')
})

it('knows a repository that a link asks for, also one that the list has no room for', async () => {
  show('ric/repo-1139')
  await screen.findByText('Chosen: https://charts.example/repo-1139')
  await waitFor(() => expect(screen.getByRole('combobox')).toHaveProperty('value', 'repo-1139 (ric)'))
})

it('shows fewer of them in a list', async () => {
  shown = NAMES.slice(0, 2)
  show('ric/repo-1001')
  await screen.findByText('Chosen: https://charts.example/repo-1001')
  expect(screen.queryByRole('combobox')).toBeNull()
  expect(screen.getByRole('button', { name: /repo-1001/ })).toBeTruthy()
})

it.each([
  ['ric/gone', 2],
  ['acme', 2],
  ['ric/gone', 140],
  ['acme', 140],
])('says that the repository %s of a link is not there, of %i', async (id, count) => {
  shown = NAMES.slice(0, count)
  show(id)
  await screen.findByText(`The repository ${id} is not there, or you may not see it. Choose another one.`)
  screen.getByText('Chosen: none')
})

it('misses nothing if no repository is chosen', async () => {
  shown = NAMES.slice(0, 2)
  show()
  await screen.findByRole('button', { name: /Repository/ })
  await waitFor(() => expect(screen.queryByText(/is not there/)).toBeNull())
})
