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
  router.subscribe('onRendered', ({ fromLocation, pathChanged }) => {
    if (fromLocation !== undefined && pathChanged) focusHeading()
  })
  return router
}

/** What had the focus may have gone with its page, while the heading stayed, such as the one that the tabs share. */
function focusHeading(): void {
  if (document.activeElement === document.body) document.querySelector<HTMLElement>('#main h1')?.focus()
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
