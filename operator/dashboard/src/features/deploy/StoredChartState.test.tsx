import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { storedChartQuery, type ChartFiles } from '~/api/queries/charts'
import { allowPathsInRequests } from '~/api/testRequests'

import { NO_DRAFT, withStoredChart } from './deployDraft'
import { StoredChartState } from './StoredChartState'

const STORED = { namespace: 'ric', name: 'hello-0.1.0-3f9a', digest: 'sha256:3f9a' }
const PATH = '/api/charts/ric/hello-0.1.0-3f9a.tgz'

let answers: Record<string, () => Response>
let described: string

const refusal = (status: number, detail: string) => (): Response =>
  Response.json({ title: 'No', status, detail, errors: [] }, { status })
const GONE = refusal(404, 'no such file')

vi.mock('~/api/uploads', () => ({
  upload: () => Promise.resolve(Response.json({ name: 'hello', version: '0.1.0', digest: described })),
}))

beforeEach(() => {
  allowPathsInRequests()
  described = STORED.digest
  answers = { [PATH]: () => new Response('packed'), [`${PATH}.prov`]: () => new Response('signed') }
  vi.stubGlobal('fetch', ({ url }: Request) => {
    const answer = answers[new URL(url).pathname]
    return Promise.resolve((answer ?? GONE)())
  })
})

afterEach(() => vi.unstubAllGlobals())

function read(): Promise<ChartFiles | null> {
  return new QueryClient().query(storedChartQuery(STORED))
}

it('reads the chart and its provenance file under the names that helm gives them', async () => {
  const files = await read()
  expect([files?.file.name, files?.provenance?.name]).toEqual(['hello-0.1.0.tgz', 'hello-0.1.0.tgz.prov'])
  expect(await files?.file.text()).toBe('packed')
  const draft = withStoredChart(NO_DRAFT, files)
  expect([draft.upload?.chart?.name, draft.provenance]).toEqual(['hello', files?.provenance])
  const chosen = { ...NO_DRAFT, upload: { file: new File([], 'other.tgz'), chart: null } }
  expect(withStoredChart(chosen, files)).toBe(chosen)
})

it('needs no provenance file', async () => {
  answers[`${PATH}.prov`] = GONE
  expect((await read())?.provenance).toBeNull()
})

it('finds nothing if the chart is gone, or another one has its name', async () => {
  described = 'sha256:other'
  expect(await read()).toBeNull()
  answers[PATH] = GONE
  expect(await read()).toBeNull()
})

it('says why a stored chart cannot be read, and tries again', async () => {
  answers[PATH] = refusal(403, 'you may not get chartarchives')
  render(
    <QueryClientProvider client={new QueryClient()}>
      <StoredChartState draft={{ ...NO_DRAFT, storedChart: STORED }} />
    </QueryClientProvider>,
  )
  await screen.findByText('The chart file that it had could not be read')
  screen.getByText(/you may not get chartarchives/)
  answers[PATH] = GONE
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
  await screen.findByText('The chart file that it had is not stored any more')
})
