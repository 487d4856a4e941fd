import { useRouter } from '@tanstack/react-router'
import { useCallback, useEffect, type ReactElement } from 'react'

import { onReconnect } from '~/api/connection'
import { PageNotLoaded } from '~/app/lazyPage'
import { drafts } from '~/lib/drafts'
import { useStore } from '~/lib/useStore'
import { Button } from '~/ui/Button'
import { Notice } from '~/ui/Notice'
import { Page } from '~/ui/Page'
import { ProblemPanel } from '~/ui/ProblemPanel'

/** What stands in place of a page that failed. The rest of the dashboard goes on. */
export function ErrorPage({ error, reset }: { error: unknown; reset: () => void }): ReactElement {
  const router = useRouter()
  const hasDrafts = useStore(drafts, (all) => all.size > 0)
  const retry = useCallback(() => {
    reset()
    void router.invalidate()
  }, [reset, router])
  const isNotLoaded = error instanceof PageNotLoaded
  useEffect(() => (isNotLoaded ? onReconnect(retry) : undefined), [isNotLoaded, retry])
  return (
    <Page title={isNotLoaded ? 'This page could not be loaded' : 'This page failed'}>
      <ProblemPanel error={error} onRetry={retry} />
      {isNotLoaded && (
        <Notice
          title="If this goes on, the gateway was upgraded"
          actions={<Button onPress={() => window.location.reload()}>Load the dashboard again</Button>}
        >
          {hasDrafts ? 'What you have typed and not sent is lost then: copy it first.' : 'Nothing is lost.'}
        </Notice>
      )}
    </Page>
  )
}
