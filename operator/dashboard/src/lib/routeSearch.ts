/** The search parameters of each page (see `searchParams.ts`). */

import { flag, integer, oneOf, optionalInteger, period, someOf, text, texts, type SearchOf } from '~/lib/searchParams'

export const PHASES = ['Pending', 'Deploying', 'Deployed', 'Degraded', 'Failed', 'Uninstalling', 'Suspended'] as const
export const HEALTHS = ['Healthy', 'Progressing', 'Degraded', 'Unknown'] as const
export const XAPP_SORTS = [
  'created',
  'name',
  'namespace',
  'organization',
  'team',
  'owner',
  'version',
  'phase',
  'health',
  'updated',
] as const

const page = integer({ min: 1, fallback: 1 })
/** More than 100 rows in a document are slow. */
const perPage = integer({ min: 1, max: 100, fallback: 50 })

export const xappsSearch = {
  search: text(),
  attention: flag(),
  namespace: texts(),
  organization: texts(),
  team: texts(),
  owner: texts(),
  phase: someOf(PHASES),
  health: someOf(HEALTHS),
  source: someOf(['xapp', 'labels']),
  sort: oneOf(XAPP_SORTS, 'name'),
  order: oneOf(['asc', 'desc']),
  page,
  per_page: perPage,
}

export const deploySearch = {
  method: oneOf(['upload', 'repository']),
  repository: text(),
  chart: text(),
  version: text(),
  namespace: text(),
  releaseName: text(),
  adopt: flag(),
  /** The uid of a deleted xApp whose values a draft holds. */
  draft: text(),
}

export const logsSearch = {
  pod: text(),
  container: text(),
  previous: flag(),
  since: period(),
  find: text(),
}

export const eventsSearch = { page }
export const manifestSearch = { object: text() }
export const valuesSearch = { view: oneOf(['yours', 'defaults', 'result', 'form']) }
export const upgradeSearch = { chart: text(), version: text(), adopt: flag() }
export const historySearch = {
  revision: optionalInteger({ min: 1 }),
  with: optionalInteger({ min: 1 }),
  of: oneOf(['values', 'manifest', 'notes']),
  page,
}
export const repositoriesSearch = { search: text(), namespace: texts(), page }
export const newRepositorySearch = { namespace: text() }
export const repositorySearch = { search: text(), page, view: oneOf(['charts', 'settings']) }
export const chartSearch = { version: text(), view: oneOf(['readme', 'values', 'schema', 'versions']), page }
export const servicesSearch = {
  namespace: texts(),
  label: text(),
  port: text(),
  search: text(),
  page,
  per_page: perPage,
}
export const signinSearch = { next: text() }

export type XAppsSearch = SearchOf<typeof xappsSearch>
/** Which xApps are listed, and not in what order or on which page. */
export type XAppsFilters = Omit<XAppsSearch, 'sort' | 'order' | 'page' | 'per_page'>
export type DeploySearch = SearchOf<typeof deploySearch>
export type LogsSearch = SearchOf<typeof logsSearch>
export type HistorySearch = SearchOf<typeof historySearch>
export type RepositoriesSearch = SearchOf<typeof repositoriesSearch>
export type ServicesSearch = SearchOf<typeof servicesSearch>
