/** The xApps that this tab uninstalls, by uid: the list does not hold back the news that they are gone. */

import { createStore } from '~/lib/store'

export const removedHere = createStore<ReadonlySet<string>>(new Set())

/** Returns the result of a removal; if it is refused, the xApp is not one that this tab uninstalls. */
export async function removingHere<T>(uid: string, removal: Promise<T>): Promise<T> {
  removedHere.set((uids) => new Set(uids).add(uid))
  try {
    return await removal
  } catch (error) {
    removedHere.set((uids) => new Set([...uids].filter((each) => each !== uid)))
    throw error
  }
}
