import { createRouter } from '@tanstack/react-router'

import { ErrorPage } from '~/app/ErrorPage'
import { routeTree } from '~/app/routes'
import { formatQuery, parseQuery, type SearchCodec } from '~/lib/searchParams'

export function createAppRouter() {
  const router = createRouter({
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
  const commit = router.commitLocation
  // View state that replaces the address of the open page leaves the page where it is scrolled to: a press that ends a
  // field would not reach its button otherwise.
  router.commitLocation = (next) => {
    const staysOnPage = next.replace === true && next.pathname === router.state.resolvedLocation?.pathname
    return commit({ ...next, resetScroll: next.resetScroll ?? !staysOnPage })
  }
  return router
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
