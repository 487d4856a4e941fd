import { queryOptions, type QueryClient, type QueryKey } from '@tanstack/react-query'

import { request, type Schemas } from '~/api/client'
import { upload } from '~/api/uploads'
import { Problem } from '~/lib/problem'
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

/** A ChartArchive that an xApp was deployed from. */
export interface StoredChart {
  namespace: string
  name: string
  /** Of the packed chart, `sha256:...`; null: not known. */
  digest: string | null
}

export interface ChartFiles {
  file: File
  chart: ChartDescription
  provenance: File | null
}

const NOT_FOUND = 404

/** The files of a stored chart, to deploy it again; null if it is gone, or another chart has its name by now. */
export function storedChartQuery({ namespace, name, digest }: StoredChart) {
  return queryOptions({
    queryKey: ['charts', 'stored', { namespace, name, digest }],
    staleTime: Infinity,
    retry: false,
    queryFn: async ({ client, signal }): Promise<ChartFiles | null> => {
      const content = await storedFile(namespace, `${name}.tgz`, signal)
      if (content === null) return null
      const chart = await client.query(archiveQuery(new File([content], `${name}.tgz`)))
      if (digest !== null && chart.digest !== digest) return null
      const signature = await storedFile(namespace, `${name}.tgz.prov`, signal)
      const fileName = `${chart.name}-${chart.version}.tgz`
      const provenance = signature === null ? null : new File([signature], `${fileName}.prov`)
      return { file: new File([content], fileName, { type: 'application/gzip' }), chart, provenance }
    },
  })
}

async function storedFile(namespace: string, file: string, signal: AbortSignal): Promise<Blob | null> {
  try {
    return await (await request(apiPath('api', 'charts', namespace, file), { signal })).blob()
  } catch (error) {
    if (error instanceof Problem && error.status === NOT_FOUND) return null
    throw error
  }
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
