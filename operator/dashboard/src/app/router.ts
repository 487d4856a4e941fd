import { createRouter } from '@tanstack/react-router'

import { ErrorPage } from '~/app/ErrorPage'
import { routeTree } from '~/app/routes'
import { formatQuery, parseQuery, type SearchCodec } from '~/lib/searchParams'

export function createAppRouter() {
  return createRouter({
    routeTree,
    parseSearch: parseQuery,
    stringifySearch: formatQuery,
    defaultErrorComponent: ErrorPage,
    defaultPreload: 'intent',
    // Pages read through queries, not through loaders.
    defaultPreloadStaleTime: 0,
    defaultPendingMs: 150,
    defaultStructuralSharing: true,
    scrollRestoration: true,
    trailingSlash: 'never',
  })
}

export type AppRouter = ReturnType<typeof createAppRouter>

declare module '@tanstack/react-router' {
  interface Register {
    router: AppRouter
  }

  interface StaticDataRouteOption {
    searchCodec?: SearchCodec<object>
  }
}
