import { keepPreviousData, queryOptions } from '@tanstack/react-query'

import { request, type Schemas } from '~/api/client'
import type { PageOf } from '~/api/queries/xapps'
import { apiPath, queryText, type Query } from '~/lib/query'

export type Repository = Schemas['RepositoryRecord']
export type ChartOfRepository = Schemas['ChartRecord']
export type ChartVersion = Schemas['ChartVersionRecord']

const JSON_TYPE = { 'Content-Type': 'application/json' }

async function page<T>(path: string, signal: AbortSignal): Promise<PageOf<T>> {
  const response = await request(path, { signal })
  return (await response.json()) as PageOf<T>
}

/** One page of the saved repositories. */
export function repositoriesQuery(query: Query) {
  return queryOptions({
    queryKey: ['repositories', 'list', query],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => page<Repository>(`/api/repositories${queryText(query)}`, signal),
  })
}

/** One page of the charts of a repository; a registry (oci) cannot list its charts and answers 404. */
export function chartsQuery(namespace: string, repository: string, query: Query) {
  return queryOptions({
    queryKey: ['repositories', 'charts', { namespace, repository, query }],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      page<ChartOfRepository>(
        apiPath('api', 'repositories', namespace, repository, 'charts') + queryText(query),
        signal,
      ),
  })
}

/** The versions of a chart, newest first. */
export function versionsQuery(namespace: string, repository: string, chart: string, query: Query = { per_page: 100 }) {
  return queryOptions({
    queryKey: ['repositories', 'versions', { namespace, repository, chart, query }],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      page<ChartVersion>(
        apiPath('api', 'repositories', namespace, repository, 'charts', chart, 'versions') + queryText(query),
        signal,
      ),
  })
}

export interface NewRepository {
  name: string
  namespace: string
  url: string
  username?: string
  password?: string
  token?: string
}

/** Saves a repository. The credentials are in this one request only. */
export async function saveRepository(repository: NewRepository): Promise<Repository> {
  const response = await request('/api/repositories', {
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify(repository),
  })
  return (await response.json()) as Repository
}
