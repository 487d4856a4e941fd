import { useLocation, useNavigate } from '@tanstack/react-router'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState, type ReactElement } from 'react'

import { reconnected } from '~/api/connection'
import { sessionQuery } from '~/api/queries/session'
import { sessionState } from '~/api/session'
import { SignInForm } from '~/app/SignInForm'
import { useClearSession } from '~/app/useClearSession'
import { useStore } from '~/lib/useStore'
import { clockText, parseTime } from '~/lib/time'
import { Button } from '~/ui/Button'
import { Dialog } from '~/ui/Dialog'
import { Bar } from '~/ui/Notice'
import { useNow } from '~/ui/useNow'

import styles from './ConnectionBar.module.css'

const WARN_MILLISECONDS = 5 * 60 * 1000
const SIGN_IN = '/signin'

/** Goes to the sign-in page when nobody is signed in. Returns whether that page is open. */
export function useSignInRedirect(): boolean {
  const state = useStore(sessionState)
  const navigate = useNavigate()
  const href = useLocation({ select: (location) => location.href })
  const isSignIn = useLocation({ select: (location) => location.pathname === SIGN_IN })
  useEffect(() => {
    if (state !== 'signed-out' || isSignIn) return
    void navigate({ to: SIGN_IN, search: { next: href === '/xapps' ? '' : href }, replace: true })
  }, [state, isSignIn, href, navigate])
  return isSignIn
}

/**
 * The dialog that asks to sign in again over the page, so that nothing on it is lost: once the session has ended, or
 * when the reader follows the warning before. Reads repeat after it; what was to be written waits for the reader.
 */
export function SessionGuard(): ReactElement {
  const hasExpired = useStore(sessionState, (state) => state === 'expired')
  const [isRenewing, setRenewing] = useState(false)
  const { data: session } = useQuery({ ...sessionQuery, enabled: !hasExpired })
  const goOn = useGoOn(session?.user ?? null)
  return (
    <>
      <ExpiryWarning expiresAt={session?.expiresAt ?? null} onRenew={() => setRenewing(true)} />
      <Dialog
        title={hasExpired ? 'Your sign-in has ended' : 'Sign in again'}
        isOpen={hasExpired || isRenewing}
        isDismissable={!hasExpired}
        onClose={() => setRenewing(false)}
      >
        <p>
          {hasExpired
            ? 'Sign in to go on. Nothing on this page is lost. What you were about to send is not sent: do it again.'
            : 'A new token keeps you signed in. Nothing on this page is lost.'}
        </p>
        <SignInForm
          onSignedIn={async () => {
            await goOn()
            setRenewing(false)
          }}
        />
      </Dialog>
    </>
  )
}

function useGoOn(user: string | null): () => Promise<void> {
  const client = useQueryClient()
  const clear = useClearSession()
  const navigate = useNavigate()
  const lastUser = useRef(user)
  useEffect(() => {
    if (user !== null) lastUser.current = user
  }, [user])
  return async () => {
    const session = await client.query({ ...sessionQuery, staleTime: 0 })
    if (lastUser.current !== null && session.user !== lastUser.current) {
      // Somebody else: what is on the page and in its drafts is not theirs.
      clear()
      await navigate({ to: '/xapps', ignoreBlocker: true })
    }
    await client.invalidateQueries()
    reconnected()
  }
}

function ExpiryWarning({ expiresAt, onRenew }: { expiresAt: string | null; onRenew: () => void }): ReactElement | null {
  const now = useNow(10_000)
  const at = parseTime(expiresAt)
  if (at === null || at.getTime() - now > WARN_MILLISECONDS || at.getTime() <= now) return null
  return (
    <div className={styles.place}>
      <Bar
        tone="warn"
        actions={
          <Button size="small" onPress={onRenew}>
            Sign in again
          </Button>
        }
      >
        Your sign-in ends at {clockText(at)}.
      </Bar>
    </div>
  )
}
