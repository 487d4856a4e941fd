import { useRouter } from '@tanstack/react-router'
import { useCallback, useEffect, type ReactElement } from 'react'

import { onReconnect } from '~/api/connection'
import { NotLoaded } from '~/lib/problem'
import { LoadAgain } from '~/ui/LoadAgain'
import { Page } from '~/ui/Page'
import { ProblemPanel } from '~/ui/ProblemPanel'

/** What stands in place of a page that failed. The rest of the dashboard goes on. */
export function ErrorPage({ error, reset }: { error: unknown; reset: () => void }): ReactElement {
  const router = useRouter()
  const retry = useCallback(() => {
    reset()
    void router.invalidate()
  }, [reset, router])
  const isNotLoaded = error instanceof NotLoaded
  useEffect(() => (isNotLoaded ? onReconnect(retry) : undefined), [isNotLoaded, retry])
  return (
    <Page title={isNotLoaded ? 'This page could not be loaded' : 'This page failed'}>
      <ProblemPanel error={error} onRetry={retry} />
      {isNotLoaded && <LoadAgain />}
    </Page>
  )
}
