import { getRouteApi, useRouter } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useState, type ReactElement } from 'react'

import { aboutQuery } from '~/api/queries/session'
import { sessionCount } from '~/api/session'
import { SignInForm } from '~/app/SignInForm'
import { safeNext } from '~/app/safeNext'
import { useClearSession } from '~/app/useClearSession'
import { useStore } from '~/lib/useStore'
import { Card } from '~/ui/Panel'
import { Page } from '~/ui/Page'

import logo from './logo.svg'
import styles from './SignInPage.module.css'

const route = getRouteApi('/signin')

export function SignInPage(): ReactElement {
  const { next } = route.useSearch()
  const router = useRouter()
  const { data: about } = useQuery(aboutQuery)
  const clear = useClearSession()
  const goOn = useCallback(async () => {
    // The gateway tells more to those who signed in.
    clear()
    router.history.replace(safeNext(next, window.location.origin))
    await router.invalidate()
  }, [router, next, clear])
  const needsNone = about?.auth === 'none'
  // Also signed in by another tab.
  const count = useStore(sessionCount)
  const [firstCount] = useState(count)
  const isDone = needsNone || count !== firstCount
  useEffect(() => {
    if (isDone) void goOn()
  }, [isDone, goOn])
  return (
    <div className={styles.place}>
      <Page title="Sign in" heading={<Heading />}>
        <Card>
          <SignInForm />
        </Card>
      </Page>
    </div>
  )
}

function Heading(): ReactElement {
  return (
    <>
      <img src={logo} alt="" width={32} height={32} />
      Sign in to xApps Management
    </>
  )
}
