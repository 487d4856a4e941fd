import { useRouter } from '@tanstack/react-router'
import type { ReactElement } from 'react'

import { Page } from '~/ui/Page'
import { ProblemPanel } from '~/ui/ProblemPanel'

/** What stands in place of a page that failed. The rest of the dashboard goes on. */
export function ErrorPage({ error, reset }: { error: unknown; reset: () => void }): ReactElement {
  const router = useRouter()
  const retry = (): void => {
    reset()
    void router.invalidate()
  }
  return (
    <Page title="This page failed">
      <ProblemPanel error={error} onRetry={retry} />
    </Page>
  )
}
