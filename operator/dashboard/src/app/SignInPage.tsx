import { getRouteApi, useRouter } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useState, type ReactElement } from 'react'

import { aboutQuery, sessionQuery } from '~/api/queries/session'
import { sessionCount, sessionProof } from '~/api/session'
import { SignInForm } from '~/app/SignInForm'
import { safeNext } from '~/app/safeNext'
import { useClearSession } from '~/app/useClearSession'
import { useStore } from '~/lib/useStore'
import { Card } from '~/ui/Panel'
import { Page } from '~/ui/Page'
import { Skeleton } from '~/ui/Skeleton'

import logo from './logo.svg'
import styles from './SignInPage.module.css'

const route = getRouteApi('/signin')

export function SignInPage(): ReactElement {
  const { next } = route.useSearch()
  const router = useRouter()
  const { data: about } = useQuery(aboutQuery)
  const clear = useClearSession()
  const goOn = useCallback(async () => {
    router.history.replace(safeNext(next, window.location.origin))
    await router.invalidate()
  }, [router, next])
  const needsNone = about?.auth === 'none'
  // Also signed in by another tab.
  const count = useStore(sessionCount)
  const [firstCount] = useState(count)
  // The address was opened by somebody who is signed in. Without a proof there is no session.
  const [hasProof] = useState(() => sessionProof() !== null)
  const session = useQuery({ ...sessionQuery, enabled: hasProof, retry: false })
  const isSignedIn = hasProof && session.data !== undefined
  const isNew = count !== firstCount
  const isDone = needsNone || isSignedIn || isNew
  useEffect(() => {
    if (!isDone) return
    // The gateway tells more to those who signed in.
    if (isNew) clear()
    void goOn()
  }, [isDone, isNew, clear, goOn])
  return (
    <div className={styles.place}>
      <Page title="Sign in" heading={<Heading />}>
        <Card>{session.isLoading || isSignedIn ? <Skeleton lines={4} /> : <SignInForm />}</Card>
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
