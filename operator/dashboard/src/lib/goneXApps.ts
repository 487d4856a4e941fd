/** xApps that were uninstalled while this tab shows them: their last state and what was typed stay, writing is off. */

import { ALLOWED, refused, type Right } from '~/lib/rights'
import { createStore } from '~/lib/store'
import { clockText } from '~/lib/time'

/** When, in milliseconds since 1970, by `namespace/name`. */
export const goneXApps = createStore<ReadonlyMap<string, number>>(new Map())

export function setGone(key: string, at: number | null): void {
  goneXApps.set((current) => {
    const next = new Map(current)
    if (at === null) next.delete(key)
    else next.set(key, at)
    return next
  })
}

/** Returns whether an xApp can be changed, as far as its end is concerned. */
export function rightUntilGone(at: Date | number | null | undefined): Right {
  return at === null || at === undefined ? ALLOWED : refused(`It was uninstalled at ${clockText(new Date(at))}`)
}
