import { useLocation, useNavigate } from '@tanstack/react-router'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState, type ReactElement } from 'react'

import { reconnected } from '~/api/connection'
import { sessionQuery } from '~/api/queries/session'
import { sessionCount, sessionState } from '~/api/session'
import { useClearSession } from '~/app/useClearSession'
import { giveDraftsBack, setDraftsAside } from '~/lib/drafts'
import { useStore } from '~/lib/useStore'
import { clockText, parseTime } from '~/lib/time'
import { Button } from '~/ui/Button'
import { Dialog } from '~/ui/Dialog'
import { lazyPart } from '~/ui/lazyPart'
import { Bar } from '~/ui/Notice'
import { Skeleton } from '~/ui/Skeleton'
import { useNow } from '~/ui/useNow'

import styles from './ConnectionBar.module.css'

const SignInForm = lazyPart('the sign-in form', async () => (await import('~/app/SignInForm')).SignInForm, {
  // The part itself says what it waits for.
  placeholder: <Skeleton lines={4} isWaiting={false} />,
})
const WARN_MILLISECONDS = 5 * 60 * 1000
const MIN_WAIT_MILLISECONDS = 5_000
/** A longer one makes a timer fire at once. */
const MAX_WAIT_MILLISECONDS = 24 * 60 * 60 * 1000
const SIGN_IN = '/signin'

/** Goes to the sign-in page when nobody is signed in, in this tab or another. Returns whether that page is open. */
export function useSignInRedirect(): boolean {
  const state = useStore(sessionState)
  const clear = useClearSession()
  const client = useQueryClient()
  const navigate = useNavigate()
  const href = useLocation({ select: (location) => location.href })
  const isSignIn = useLocation({ select: (location) => location.pathname === SIGN_IN })
  useEffect(() => {
    if (state !== 'signed-out' || isSignIn) return
    // Who signs in next may be somebody else.
    setDraftsAside(client.getQueryData(sessionQuery.queryKey)?.user ?? null)
    clear()
    void navigate({ to: SIGN_IN, search: { next: href === '/xapps' ? '' : href }, replace: true })
  }, [state, isSignIn, href, navigate, clear, client])
  return isSignIn
}

/**
 * The dialog that asks to sign in again over the page, so that nothing on it is lost: once the session has ended, or
 * when the reader follows the warning before. Reads repeat after it; what was to be written waits for the reader.
 */
export function SessionGuard(): ReactElement {
  const hasExpired = useStore(sessionState, (state) => state === 'expired')
  const [isRenewing, setRenewing] = useState(false)
  const { data: session } = useQuery({
    ...sessionQuery,
    enabled: !hasExpired,
    // At its end the gateway is asked: the dialog comes before the reader is about to send something.
    refetchInterval: ({ state }) => untilEnd(state.data?.expiresAt),
  })
  const user = session?.user ?? null
  useGoOn(user)
  useEffect(() => {
    if (user !== null) giveDraftsBack(user)
  }, [user])
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
        <SignInForm onSignedIn={() => setRenewing(false)} />
      </Dialog>
    </>
  )
}

/** Milliseconds until a session ends by the clock of this machine, which can be wrong; false: it has no end. */
function untilEnd(expiresAt: string | null | undefined): number | false {
  const at = parseTime(expiresAt ?? null)
  return at !== null && Math.min(Math.max(at.getTime() - Date.now(), MIN_WAIT_MILLISECONDS), MAX_WAIT_MILLISECONDS)
}

/** After each sign-in, in this tab or another: reads again what the page shows. */
function useGoOn(user: string | null): void {
  const count = useStore(sessionCount)
  const client = useQueryClient()
  const clear = useClearSession()
  const navigate = useNavigate()
  const lastUser = useRef(user)
  const lastCount = useRef(count)
  useEffect(() => {
    if (user !== null) lastUser.current = user
  }, [user])
  useEffect(() => {
    if (count === lastCount.current) return
    lastCount.current = count
    const before = lastUser.current
    const goOn = async (): Promise<void> => {
      const session = await client.query({ ...sessionQuery, staleTime: 0 })
      if (before !== null && session.user !== before) {
        // Somebody else: what is on the page and in its drafts is not theirs.
        clear()
        await navigate({ to: '/xapps', ignoreBlocker: true })
      }
      reconnected()
    }
    // If that fails, the queries of the page say so.
    void goOn().catch(() => undefined)
  }, [count, client, clear, navigate])
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
