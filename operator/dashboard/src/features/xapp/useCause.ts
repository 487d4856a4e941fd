import { useHealth } from '~/features/xapp/useHealth'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { findCause, type Cause } from '~/lib/xapp/cause'
import { currentMessage } from '~/lib/xapp/currentMessage'

/** What the page says first of the open xApp: why it is not Ready, or what it waits for. */
export function useCause(): { cause: Cause | null; waitsFor: string | null } {
  const { record, goneAt } = useOpenXApp()
  const health = useHealth()
  const cause = findCause(record, health.data)
  const message = currentMessage(record) ?? ''
  const isSettled = goneAt !== null || record.ready || record.phase === 'Suspended' || message === ''
  return { cause, waitsFor: cause !== null || isSettled ? null : message }
}
