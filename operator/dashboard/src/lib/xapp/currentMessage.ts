import type { XApp } from '~/lib/xapp/types'

export type Told = Pick<XApp, 'phase' | 'reason' | 'message'>

/** Returns the message of the operator, unless it is older than the uninstall, which goes on in a suspended xApp too. */
export function currentMessage({ phase, reason, message }: Told): string | null {
  return phase === 'Uninstalling' && reason === 'Suspended' ? null : message
}
