import { useBlocker } from '@tanstack/react-router'
import type { ReactElement } from 'react'

import { ConfirmDialog } from '~/ui/Dialog'

interface LeaveGuardProps {
  /** True while something was typed and not sent. */
  when: boolean
  what?: string
  /** Hands what was typed to the page of an address, and returns whether that page takes it. */
  handTo?: (pathname: string) => boolean
}

/** Asks before the page is left. Going to another tab or view of the same page does not ask. */
export function LeaveGuard({
  when,
  what = 'What you typed is not sent yet.',
  handTo,
}: LeaveGuardProps): ReactElement | null {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) =>
      current.pathname !== next.pathname && next.pathname !== '/signin' && handTo?.(next.pathname) !== true && when,
    // Closing and reloading the tab: app/unsentDrafts.ts.
    enableBeforeUnload: false,
    withResolver: true,
  })
  if (blocker.status !== 'blocked') return null
  return (
    <ConfirmDialog
      title="Leave this page?"
      isOpen
      onClose={blocker.reset}
      keepLabel="Stay"
      confirmLabel="Leave"
      onConfirm={blocker.proceed}
    >
      <p>{what} It is kept until you close or reload this tab, and is here again when you come back.</p>
    </ConfirmDialog>
  )
}
