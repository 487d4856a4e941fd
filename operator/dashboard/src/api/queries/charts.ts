import { queryOptions, type QueryClient, type QueryKey } from '@tanstack/react-query'

import { request, type Schemas } from '~/api/client'
import { upload } from '~/api/uploads'
import { apiPath, queryText, type Query } from '~/lib/query'

export type ChartDescription = Schemas['ChartDescription']

const DESCRIPTION_STALE_MILLISECONDS = 5 * 60_000

/** The key of all chosen files: other parts of the page see by it that the gateway reads one. */
export const ARCHIVES = ['charts', 'archive'] as const

const fileNumbers = new WeakMap<File, number>()
let filesSeen = 0

/** A number for each chosen file: two files may have the same name. */
function fileNumber(file: File): number {
  const known = fileNumbers.get(file)
  if (known !== undefined) return known
  filesSeen += 1
  fileNumbers.set(file, filesSeen)
  return filesSeen
}

/** What a chart archive is, as the gateway reads it. Nothing is stored, so that it may be asked again. */
export function archiveQuery(file: File) {
  return queryOptions({
    queryKey: [...ARCHIVES, fileNumber(file)],
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    retry: false,
    queryFn: async ({ signal }): Promise<ChartDescription> => {
      const body = new FormData()
      body.append('file', file)
      const response = await upload('/api/charts?dryRun=true', { method: 'POST', body, signal })
      return (await response.json()) as ChartDescription
    },
  })
}

/**
 * Returns the parameter of a read that failed before: the gateway asks the repository again, instead of repeating the
 * error of a slow failure.
 */
export function retryOf({ client, queryKey }: { client: QueryClient; queryKey: QueryKey }): Query {
  const state = client.getQueryState(queryKey)
  return state !== undefined && state.errorUpdatedAt > state.dataUpdatedAt ? { retry: true } : {}
}

/** A version of a chart in a saved repository. */
export function chartVersionQuery(namespace: string, repository: string, chart: string, version: string) {
  return queryOptions({
    queryKey: ['repositories', 'version', { namespace, repository, chart, version }],
    staleTime: DESCRIPTION_STALE_MILLISECONDS,
    retry: false,
    queryFn: async (context): Promise<ChartDescription> => {
      const path = apiPath('api', 'repositories', namespace, repository, 'charts', chart, 'versions', version)
      const response = await request(path + queryText(retryOf(context)), { signal: context.signal })
      return (await response.json()) as ChartDescription
    },
  })
}

/** The chart that the spec of an xApp asks for. */
export function xappChartQuery(namespace: string, name: string) {
  return queryOptions({
    queryKey: ['xapps', 'chart', { namespace, name }],
    retry: false,
    queryFn: async ({ signal }): Promise<ChartDescription> => {
      const response = await request(apiPath('api', 'xapps', namespace, name, 'chart'), { signal })
      return (await response.json()) as ChartDescription
    },
  })
}
