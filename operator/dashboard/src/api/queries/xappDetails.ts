/** What the page of one xApp reads besides its record. */

import { keepPreviousData, queryOptions } from '@tanstack/react-query'

import { api, read, request, type Schemas } from '~/api/client'
import { readEndOfText } from '~/api/limitedText'
import type { PageOf } from '~/api/queries/xapps'
import { apiPath, queryText } from '~/lib/query'
import { ifMatch } from '~/lib/ifMatch'
import type { RemovalPreview } from '~/lib/xapp/removal'

const EVENTS_PER_PAGE = 50
const REVISIONS_PER_PAGE = 20
const LAST_LINES = 20
/** Of longer lines, the end is shown. */
const LAST_LINES_MAX_BYTES = 1024 * 1024

export interface XAppId {
  namespace: string
  name: string
}

/** Returns the path of something of an xApp. */
export function xappPath({ namespace, name }: XAppId, ...rest: readonly string[]): string {
  return apiPath('api', 'xapps', namespace, name, ...rest)
}

export function healthQuery(id: XAppId) {
  return queryOptions({
    queryKey: ['xapps', 'health', id],
    queryFn: ({ signal }) => read(api.GET('/api/xapps/{namespace}/{name}/health', { params: { path: id }, signal })),
  })
}

/** The form and the values as stored; not for xApps known by their labels only. */
export function specQuery(id: XAppId) {
  return queryOptions({
    queryKey: ['xapps', 'spec', id],
    queryFn: ({ signal }) => read(api.GET('/api/xapps/{namespace}/{name}/spec', { params: { path: id }, signal })),
  })
}

export interface XAppEventRow {
  type: string | null
  reason: string | null
  message: string | null
  object: { kind: string | null; name: string | null }
  count: number
  lastSeen: string | null
}

export function eventsQuery(id: XAppId, page: number, perPage = EVENTS_PER_PAGE) {
  return queryOptions({
    queryKey: ['xapps', 'events', { ...id, page, perPage }],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }): Promise<PageOf<XAppEventRow>> => {
      const response = await request(`${xappPath(id, 'events')}${queryText({ page, per_page: perPage })}`, { signal })
      return (await response.json()) as PageOf<XAppEventRow>
    },
  })
}

export interface RevisionRow {
  revision: number
  status: string | null
  chart: string | null
  chartVersion: string | null
  appVersion: string | null
  chartDigest: string | null
  valuesDigest: string | null
  action: string | null
  deployedAt: string | null
  /** Helm's own sentence about it, or why it failed. */
  description: string | null
  /** Null: not known. */
  wasHealthy: boolean | null
}

/** `newest`: the revision in force, so that a new one is read. */
export function historyQuery(id: XAppId, page: number, newest: number | null) {
  return queryOptions({
    queryKey: ['xapps', 'history', { ...id, page, newest }],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }): Promise<PageOf<RevisionRow>> => {
      const query = queryText({ page, per_page: REVISIONS_PER_PAGE })
      const response = await request(`${xappPath(id, 'history')}${query}`, { signal })
      return (await response.json()) as PageOf<RevisionRow>
    },
  })
}

export interface RevisionDetails {
  revision: number
  status: string | null
  chart: string | null
  chartVersion: string | null
  appVersion: string | null
  /** When helm made it, also if it failed. */
  deployedAt: string | null
  /** Helm's own sentence about it, or the whole error. */
  description: string | null
  /** YAML with whole 64-bit integers, secrets masked. */
  valuesText: string
  manifest: string
  notes: string
}

/** `status`: what the history says of it, so that it is read again when that changes. Nothing else of it does. */
export function revisionQuery(id: XAppId, revision: number, status: string | null = null) {
  return queryOptions({
    queryKey: ['xapps', 'revision', { ...id, revision, status }],
    staleTime: Infinity,
    queryFn: async ({ signal }): Promise<RevisionDetails> => {
      const response = await request(xappPath(id, 'history', String(revision)), { signal })
      return (await response.json()) as RevisionDetails
    },
  })
}

export type RevisionPart = 'values' | 'manifest' | 'notes'

export interface RevisionDiff {
  /** A unified diff; empty: equal; null: not asked for. */
  values: string | null
  manifest: string | null
  notes: string | null
  /** Parts that were cut. */
  truncated: readonly string[]
}

export function revisionDiffQuery(id: XAppId, from: number, to: number, of: RevisionPart) {
  return queryOptions({
    queryKey: ['xapps', 'diff', { ...id, from, to, of }],
    staleTime: Infinity,
    queryFn: async ({ signal }): Promise<RevisionDiff> => {
      const path = xappPath(id, 'history', String(from), 'diff', String(to))
      const response = await request(`${path}${queryText({ of })}`, { signal })
      return (await response.json()) as RevisionDiff
    },
  })
}

/** `revision`: of the release, so that a new one is read again. */
export function manifestQuery(id: XAppId, revision: number | null) {
  return queryOptions({
    queryKey: ['xapps', 'manifest', { ...id, revision }],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => read(api.GET('/api/xapps/{namespace}/{name}/manifest', { params: { path: id }, signal })),
  })
}

export function notesQuery(id: XAppId, revision: number | null) {
  return queryOptions({
    queryKey: ['xapps', 'notes', { ...id, revision }],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => read(api.GET('/api/xapps/{namespace}/{name}/notes', { params: { path: id }, signal })),
  })
}

export type ChartTest = Schemas['ReleaseTest']

/** The tests of the chart. `version` makes another result another report. */
export function testsQuery(id: XAppId, version: string) {
  return queryOptions({
    queryKey: ['xapps', 'tests', { ...id, version }],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => read(api.GET('/api/xapps/{namespace}/{name}/tests', { params: { path: id }, signal })),
  })
}

export interface LogOf {
  pod: string
  container: string
  previous: boolean
}

/** The end of a log. `restarts` makes a new run a new log. */
export function lastLinesQuery(id: XAppId, log: LogOf & { restarts: number }) {
  return queryOptions({
    queryKey: ['xapps', 'lastLines', { ...id, ...log }],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }): Promise<string> => {
      const { pod, container, previous } = log
      const query = queryText({ pod, container, previous: previous ? true : null, tail: LAST_LINES })
      const response = await request(`${xappPath(id, 'logs')}${query}`, { signal })
      return readEndOfText(response, LAST_LINES_MAX_BYTES)
    },
  })
}

/** What uninstalling would remove. */
export function removalQuery({ namespace, name, uid }: XAppId & { uid: string }) {
  return queryOptions({
    queryKey: ['xapps', 'removal', { namespace, name, uid }],
    staleTime: 0,
    gcTime: 0,
    queryFn: async ({ signal }): Promise<RemovalPreview> => {
      const response = await request(`${apiPath('api', 'deployment', 'xapp')}?dryRun=true`, {
        method: 'DELETE',
        headers: { 'Content-Type': 'application/json', ...ifMatch({ uid, generation: null }) },
        body: JSON.stringify({ name, namespace }),
        signal,
      })
      return (await response.json()) as RemovalPreview
    },
  })
}
