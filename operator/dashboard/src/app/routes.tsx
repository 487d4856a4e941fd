/** The pages and their addresses. A page is loaded when it is opened. */

import { createRootRoute, createRoute, redirect, type SearchSchemaInput } from '@tanstack/react-router'

import { lazyPage } from '~/app/lazyPage'
import { NotFoundPage } from '~/app/NotFoundPage'
import { Shell } from '~/app/Shell'
import * as search from '~/lib/routeSearch'
import { readSearch, writeSearch, type SearchCodec } from '~/lib/searchParams'

/** What `createRoute` needs for the search parameters of a page: check them, and leave defaults out of the URL. */
function searchOf<T extends object>(codec: SearchCodec<T>) {
  return {
    staticData: { searchCodec: codec as SearchCodec<object> },
    validateSearch: (raw: Partial<T> & SearchSchemaInput): T =>
      readSearch(codec, raw as Record<string, unknown>).search,
    search: {
      middlewares: [
        ({ search: wanted, next }: { search: T; next: (search: T) => T }): T =>
          writeSearch(codec, next(wanted)) as unknown as T,
      ],
    },
  }
}

/** Of a page without parameters: whatever the address has is dropped. */
const NO_SEARCH = searchOf({})

export const rootRoute = createRootRoute({ component: Shell, notFoundComponent: NotFoundPage })

const start = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/xapps', replace: true })
  },
})

const signin = createRoute({
  getParentRoute: () => rootRoute,
  path: '/signin',
  ...searchOf(search.signinSearch),
  component: lazyPage(() => import('~/app/SignInPage'), 'SignInPage'),
})

const xapps = createRoute({
  getParentRoute: () => rootRoute,
  path: '/xapps',
  ...searchOf(search.xappsSearch),
  component: lazyPage(() => import('~/features/xapps/XAppsPage'), 'XAppsPage'),
})

const deploy = createRoute({
  getParentRoute: () => rootRoute,
  path: '/deploy',
  ...searchOf(search.deploySearch),
  component: lazyPage(() => import('~/features/deploy/DeployPage'), 'DeployPage'),
})

const xapp = createRoute({
  getParentRoute: () => rootRoute,
  path: '/xapps/$namespace/$name',
  component: lazyPage(() => import('~/features/xapp/XAppLayout'), 'XAppLayout'),
})

const overview = createRoute({
  getParentRoute: () => xapp,
  path: '/',
  ...NO_SEARCH,
  component: lazyPage(() => import('~/features/xapp/OverviewPage'), 'OverviewPage'),
})

const logs = createRoute({
  getParentRoute: () => xapp,
  path: '/logs',
  ...searchOf(search.logsSearch),
  component: lazyPage(() => import('~/features/xapp/LogsPage'), 'LogsPage'),
})

const events = createRoute({
  getParentRoute: () => xapp,
  path: '/events',
  ...searchOf(search.eventsSearch),
  component: lazyPage(() => import('~/features/xapp/EventsPage'), 'EventsPage'),
})

const values = createRoute({
  getParentRoute: () => xapp,
  path: '/values',
  ...searchOf(search.valuesSearch),
  component: lazyPage(() => import('~/features/deploy/ValuesPage'), 'ValuesPage'),
})

const upgrade = createRoute({
  getParentRoute: () => xapp,
  path: '/upgrade',
  ...searchOf(search.upgradeSearch),
  component: lazyPage(() => import('~/features/deploy/UpgradePage'), 'UpgradePage'),
})

const history = createRoute({
  getParentRoute: () => xapp,
  path: '/history',
  ...searchOf(search.historySearch),
  component: lazyPage(() => import('~/features/xapp/HistoryPage'), 'HistoryPage'),
})

const manifest = createRoute({
  getParentRoute: () => xapp,
  path: '/manifest',
  ...searchOf(search.manifestSearch),
  component: lazyPage(() => import('~/features/xapp/ManifestPage'), 'ManifestPage'),
})

const notes = createRoute({
  getParentRoute: () => xapp,
  path: '/notes',
  ...NO_SEARCH,
  component: lazyPage(() => import('~/features/xapp/NotesPage'), 'NotesPage'),
})

const ownApi = createRoute({
  getParentRoute: () => xapp,
  path: '/own-api',
  ...NO_SEARCH,
  component: lazyPage(() => import('~/features/xapp/OwnApiPage'), 'OwnApiPage'),
})

const repositories = createRoute({
  getParentRoute: () => rootRoute,
  path: '/repositories',
  ...searchOf(search.repositoriesSearch),
  component: lazyPage(() => import('~/features/repositories/RepositoriesPage'), 'RepositoriesPage'),
})

const newRepository = createRoute({
  getParentRoute: () => rootRoute,
  path: '/repositories/new',
  ...searchOf(search.newRepositorySearch),
  component: lazyPage(() => import('~/features/repositories/NewRepositoryPage'), 'NewRepositoryPage'),
})

const repository = createRoute({
  getParentRoute: () => rootRoute,
  path: '/repositories/$namespace/$name',
  ...searchOf(search.repositorySearch),
  component: lazyPage(() => import('~/features/repositories/RepositoryPage'), 'RepositoryPage'),
})

const chart = createRoute({
  getParentRoute: () => rootRoute,
  path: '/repositories/$namespace/$name/$chart',
  ...searchOf(search.chartSearch),
  component: lazyPage(() => import('~/features/repositories/ChartPage'), 'ChartPage'),
})

const services = createRoute({
  getParentRoute: () => rootRoute,
  path: '/services',
  ...searchOf(search.servicesSearch),
  component: lazyPage(() => import('~/features/services/ServicesPage'), 'ServicesPage'),
})

const about = createRoute({
  getParentRoute: () => rootRoute,
  path: '/about',
  ...NO_SEARCH,
  component: lazyPage(() => import('~/features/about/AboutPage'), 'AboutPage'),
})

export const routeTree = rootRoute.addChildren([
  start,
  signin,
  xapps,
  deploy,
  xapp.addChildren([overview, logs, events, values, upgrade, history, manifest, notes, ownApi]),
  repositories,
  newRepository,
  repository,
  chart,
  services,
  about,
])
