/** What a change of an xApp means for the page of the list that is shown. */

interface Row {
  uid: string
}

interface Change<R extends Row> {
  type: 'added' | 'modified' | 'deleted'
  record: R
}

/** Changes that are not shown yet, so that no row moves under the reader. */
export interface PendingChanges {
  added: ReadonlySet<string>
  gone: ReadonlySet<string>
  /** Changes were missed: which ones is not known. */
  isOutdated: boolean
}

export const NOTHING_PENDING: PendingChanges = { added: new Set(), gone: new Set(), isOutdated: false }

/** Returns the rows with the changed one in its place, or the same array if it is not among them. */
export function withChangedRow<R extends Row>(rows: readonly R[], record: Partial<R> & Row): readonly R[] {
  const index = rows.findIndex(({ uid }) => uid === record.uid)
  const row = rows[index]
  return row === undefined ? rows : rows.with(index, { ...row, ...record })
}

/** Returns whether both have the same rows in the same order, whatever is in them. */
export function haveSameRows(one: readonly Row[], other: readonly Row[]): boolean {
  return one.length === other.length && one.every(({ uid }, index) => other[index]?.uid === uid)
}

/** Returns what is pending after a change; the same object if nothing is new. */
export function pendingAfter<R extends Row>(
  pending: PendingChanges,
  { type, record: { uid } }: Change<R>,
): PendingChanges {
  if (type === 'modified') return pending
  const added = new Set(pending.added)
  const gone = new Set(pending.gone)
  if (type === 'added') {
    if (!gone.delete(uid)) added.add(uid)
  } else if (!added.delete(uid)) gone.add(uid)
  return { ...pending, added, gone }
}

/** Returns for example "3 new, 1 gone"; null if nothing is pending. */
export function pendingText({ added, gone, isOutdated }: PendingChanges): string | null {
  if (isOutdated) return 'The list may have changed'
  const parts = [added.size > 0 ? `${added.size} new` : '', gone.size > 0 ? `${gone.size} gone` : '']
  const text = parts.filter((part) => part !== '').join(', ')
  return text === '' ? null : text
}
