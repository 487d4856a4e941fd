import { keepPreviousData, queryOptions } from '@tanstack/react-query'

import { request, type Schemas } from '~/api/client'
import { retryOf } from '~/api/queries/charts'
import type { PageOf } from '~/api/queries/xapps'
import { ifMatch, type ObjectVersion } from '~/lib/ifMatch'
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
    queryFn: (context) =>
      page<ChartOfRepository>(
        apiPath('api', 'repositories', namespace, repository, 'charts') + queryText({ ...query, ...retryOf(context) }),
        context.signal,
      ),
  })
}

/** The versions of a chart, newest first. */
export function versionsQuery(namespace: string, repository: string, chart: string, query: Query = { per_page: 100 }) {
  return queryOptions({
    queryKey: ['repositories', 'versions', { namespace, repository, chart, query }],
    placeholderData: keepPreviousData,
    queryFn: (context) =>
      page<ChartVersion>(
        apiPath('api', 'repositories', namespace, repository, 'charts', chart, 'versions') +
          queryText({ ...query, ...retryOf(context) }),
        context.signal,
      ),
  })
}

/** One saved repository. */
export function repositoryQuery(namespace: string, name: string) {
  return queryOptions({
    queryKey: ['repositories', 'one', { namespace, name }],
    queryFn: async ({ signal }): Promise<Repository> => {
      const response = await request(apiPath('api', 'repositories', namespace, name), { signal })
      return (await response.json()) as Repository
    },
  })
}

export type RepositoryCheck = Schemas['RepositoryCheck']

/** The settings that are sent. Left out: the default, or for credentials and certificates what is saved; null: removed. */
export interface RepositorySettings {
  url: string
  username?: string | null
  password?: string | null
  token?: string | null
  caBundle?: string | null
  insecureSkipTLSVerify?: boolean
  allowPlainHTTP?: boolean
  interval?: string
  verify?: { provider: 'provenance' | 'cosign'; secretRef: { name: string } }
}

export interface NewRepository extends RepositorySettings {
  name: string
  namespace: string
}

async function send<T>(
  path: string,
  method: 'POST' | 'PUT',
  body: RepositorySettings,
  edited?: ObjectVersion,
): Promise<T> {
  const headers = { ...JSON_TYPE, ...(edited === undefined ? {} : ifMatch(edited)) }
  const response = await request(path, { method, headers, body: JSON.stringify(body) })
  return (await response.json()) as T
}

/** Saves a repository. The credentials are in this one request only. */
export function saveRepository(repository: NewRepository): Promise<Repository> {
  return send('/api/repositories', 'POST', repository)
}

/** Asks whether a repository answers with these settings. Nothing is saved. */
export function checkNewRepository(repository: NewRepository): Promise<RepositoryCheck> {
  return send('/api/repositories?dryRun=true', 'POST', repository)
}

export interface RepositoryId {
  namespace: string
  name: string
}

export function repositoryPath({ namespace, name }: RepositoryId): string {
  return apiPath('api', 'repositories', namespace, name)
}

export interface EditedRepository extends RepositoryId, ObjectVersion {}

/** Replaces the settings of a saved repository, if it is still in the version that was edited. */
export function changeRepository(edited: EditedRepository, settings: RepositorySettings): Promise<Repository> {
  return send(repositoryPath(edited), 'PUT', settings, edited)
}

/** Asks whether a saved repository answers with other settings. Nothing is saved. */
export function checkRepositoryChange(
  edited: EditedRepository,
  settings: RepositorySettings,
): Promise<RepositoryCheck> {
  return send(`${repositoryPath(edited)}?dryRun=true`, 'PUT', settings, edited)
}

/** Has the gateway and the operator read the index now. */
export async function refreshRepository(id: RepositoryId): Promise<Repository> {
  const response = await request(`${repositoryPath(id)}/refresh`, { method: 'POST' })
  return (await response.json()) as Repository
}

/** Removes this repository, and no other one of its name. */
export async function removeRepository({ uid, ...id }: RepositoryId & { uid: string }): Promise<void> {
  await request(repositoryPath(id), { method: 'DELETE', headers: ifMatch({ uid, generation: null }) })
}
