/** The xApp whose page is open: its layout provides it to the pages below. */

import { createContext, use } from 'react'

import type { Schemas } from '~/api/client'
import type { XAppId } from '~/api/queries/xappDetails'
import { rightUntilGone } from '~/lib/goneXApps'
import type { Action, Right } from '~/lib/rights'

export type XAppDetails = Schemas['XAppDetails']

export interface OpenXApp {
  id: XAppId
  record: XAppDetails
  /** When it was uninstalled; null while it is there. Then nothing is read again. */
  goneAt: Date | null
  /** Nothing moves: reading every 15 seconds is enough. */
  isSettled: boolean
  /** Whether the caller may read this. */
  see: (action: Action) => Right
  /** Whether the caller may change this now: also off for xApps known by their labels, and once it is gone. */
  change: (action: Action) => Right
  /** Asks whether to roll back to a revision. */
  askToRollBack: (revision: number) => void
}

export const OpenXAppContext = createContext<OpenXApp | null>(null)

export function useOpenXApp(): OpenXApp {
  const open = use(OpenXAppContext)
  if (open === null) throw new Error('Only for pages inside of XAppLayout')
  return open
}

/** Returns why what was asked about an xApp no longer holds: it is gone, or another one has its name. */
export function lostReason({ uid }: XAppDetails, askedAbout: string, goneAt: Date | null): string | null {
  if (uid !== askedAbout) {
    return 'Somebody else replaced this xApp: the one that was asked about is gone. Close this, and look at the new one.'
  }
  return rightUntilGone(goneAt).reason
}
