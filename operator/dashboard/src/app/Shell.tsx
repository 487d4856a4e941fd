import { Outlet, useParams } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useLayoutEffect, type ReactElement } from 'react'

import { onReconnect, watchGateway } from '~/api/connection'
import { sessionQuery } from '~/api/queries/session'
import { sessionProof } from '~/api/session'
import { ConnectionBar } from '~/app/ConnectionBar'
import { firstAddress } from '~/app/firstAddress'
import { Header } from '~/app/Header'
import { useGlobalKeys } from '~/app/globalKeys'
import { NotFoundPage } from '~/app/NotFoundPage'
import { SessionGuard, useSignInRedirect } from '~/app/SessionGuard'
import { preloadAll } from '~/lib/preloads'
import { isPathSegment } from '~/lib/query'
import { usePreference } from '~/ui/usePreference'
import { isSaidOnce } from '~/lib/problem'
import { lazyPart } from '~/ui/lazyPart'
import { Page } from '~/ui/Page'
import { ProblemPanel } from '~/ui/ProblemPanel'
import { Skeleton } from '~/ui/Skeleton'
import { ToastRegion } from '~/ui/ToastRegion'

import styles from './Shell.module.css'

const DroppedParameters = lazyPart(
  'the note about parameters',
  async () => (await import('~/app/DroppedParameters')).DroppedParameters,
)

/** What surrounds every page. */
export function Shell(): ReactElement {
  useLooks()
  useGlobalKeys()
  usePreloadedPages()
  useEffect(() => watchGateway(), [])
  const isSignIn = useSignInRedirect()
  if (isSignIn) {
    return (
      <div className={styles.shell}>
        <ConnectionBar />
        <main className={styles.main}>
          <Outlet />
        </main>
        <ToastRegion />
      </div>
    )
  }
  return (
    <div className={styles.shell}>
      <a href="#main" className={styles.skip}>
        Skip to the content
      </a>
      <Header />
      <ConnectionBar />
      <SessionGuard />
      <main id="main" className={styles.main} tabIndex={-1}>
        {firstAddress.query !== '' && <DroppedParameters />}
        <Content />
      </main>
      <ToastRegion />
    </div>
  )
}

/** The page, once it is clear that the caller may see any: a first visit would show nothing but refusals. */
function Content(): ReactElement {
  const session = useQuery(sessionQuery)
  const names: Readonly<Record<string, string | undefined>> = useParams({ strict: false })
  if (session.data !== undefined || sessionProof() !== null) {
    // Nothing has such a name, and the path of a request for it would be another one.
    return Object.values(names).every((name) => isPathSegment(name ?? '')) ? <Outlet /> : <NotFoundPage />
  }
  const { error } = session
  if (error !== null && !isSaidOnce(error)) {
    return (
      <Page title="xApps Management">
        <ProblemPanel error={error} onRetry={() => void session.refetch()} isRetrying={session.isFetching} />
      </Page>
    )
  }
  return (
    <Page title="xApps Management">
      <Skeleton lines={6} />
    </Page>
  )
}

const PRELOAD_MILLISECONDS = 2000

/** Loads the other pages and the dialogs once the first page is there, and what failed once the gateway is back. */
function usePreloadedPages(): void {
  useEffect(() => {
    const timer = setTimeout(() => void preloadAll(), PRELOAD_MILLISECONDS)
    const stopListening = onReconnect(() => void preloadAll())
    return () => {
      clearTimeout(timer)
      stopListening()
    }
  }, [])
}

/** Applies the chosen theme and density to the document. */
function useLooks(): void {
  const [theme] = usePreference('theme')
  const [density] = usePreference('density')
  // Before the page is painted: it would flash.
  useLayoutEffect(() => {
    const { dataset } = document.documentElement
    if (theme === 'system') delete dataset.theme
    else dataset.theme = theme
    dataset.density = density
  }, [theme, density])
}
