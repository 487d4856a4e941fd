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
  /** The rows that are shown. When others are, the changes are shown with them, or concern other rows. */
  shown: readonly Row[]
  added: ReadonlySet<string>
  /** Only rows that are shown: for others, the page after them tells. */
  gone: ReadonlySet<string>
  /** The rows that would be shown; null: not read since. */
  next: readonly Row[] | null
  /** Changes were missed: which ones is not known. */
  isOutdated: boolean
}

/** Returns that nothing is pending for these rows. */
export function nothingPending(shown: readonly Row[]): PendingChanges {
  return { shown, added: new Set(), gone: new Set(), next: null, isOutdated: false }
}

/** Returns the rows with the changed one in its place, or the same array if it is not among them. */
export function withChangedRow<R extends Row>(rows: readonly R[], record: Partial<R> & Row): readonly R[] {
  const index = rows.findIndex(({ uid }) => uid === record.uid)
  const row = rows[index]
  return row === undefined ? rows : rows.with(index, { ...row, ...record })
}

/** Returns whether both have the same rows in the same order, whatever is in them. */
export function haveSameRows(one: readonly Row[], other: readonly Row[]): boolean {
  return one.length === other.length && startsWith(one, other)
}

/** Returns whether no row moves when others are shown: those that are shown come first, in the same order. */
export function startsWith(rows: readonly Row[], shown: readonly Row[]): boolean {
  return shown.every(({ uid }, index) => rows[index]?.uid === uid)
}

/** Returns what is pending after a change; the same object if it concerns no row that is shown or may be. */
export function pendingAfter<R extends Row>(
  pending: PendingChanges,
  { type, record: { uid } }: Change<R>,
): PendingChanges {
  const isShown = has(pending.shown, uid)
  const added = new Set(pending.added)
  const gone = new Set(pending.gone)
  if (type === 'added') {
    if (isShown) gone.delete(uid)
    else added.add(uid)
  } else if (type === 'deleted') {
    if (isShown) gone.add(uid)
    else added.delete(uid)
  }
  return added.size === pending.added.size && gone.size === pending.gone.size ? pending : { ...pending, added, gone }
}

/** Returns what is pending when it is known which rows would be shown now. */
export function pendingWith(pending: PendingChanges, next: readonly Row[]): PendingChanges {
  const added = new Set([...pending.added].filter((uid) => has(next, uid)))
  return { ...pending, added, next }
}

/**
 * Returns for example "3 new, 1 gone": rows of the page that would be shown, and rows that are shown. Null: the same
 * rows would be shown.
 */
export function pendingText({ shown, added, gone, next, isOutdated }: PendingChanges): string | null {
  const count = next === null ? 0 : next.filter(({ uid }) => added.has(uid)).length
  const parts = [count > 0 ? `${count} new` : '', gone.size > 0 ? `${gone.size} gone` : '']
  const text = parts.filter((part) => part !== '').join(', ')
  if (isOutdated) return 'The list may have changed'
  if (text !== '') return text
  return next === null || haveSameRows(shown, next) ? null : 'The list has changed'
}

function has(rows: readonly Row[], uid: string): boolean {
  return rows.some((row) => row.uid === uid)
}
