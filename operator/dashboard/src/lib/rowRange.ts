/** Selecting a range of rows, as in the lists of desktops: it begins at one row and reaches to another. */

export interface RowRange {
  /** Where it begins: the row that was selected or deselected alone. */
  start: string
  /** Where it ends now. */
  end: string
  /** Whether its rows become selected, or deselected. */
  selects: boolean
  /** What was selected without it: a range that gets shorter gives its rows back. */
  before: ReadonlySet<string>
  selected: ReadonlySet<string>
}

/** Returns the range of one row. */
export function startRange(selected: ReadonlySet<string>, key: string, selects: boolean): RowRange {
  return { start: key, end: key, selects, before: selected, selected: withRows(selected, [key], selects) }
}

/**
 * Returns the range that begins as before and ends at `end`; null if its first row is not in `keys` any more, or was
 * selected otherwise meanwhile. `keys` are the rows in their order, `selected` is what is selected now.
 */
export function extendRange(
  range: RowRange,
  { keys, selected, end }: { keys: readonly string[]; selected: ReadonlySet<string>; end: string },
): RowRange | null {
  const from = keys.indexOf(range.start)
  const to = keys.indexOf(end)
  if (from < 0 || to < 0 || selected.has(range.start) !== range.selects) return null
  const before = haveSameKeys(selected, range.selected) ? range.before : selected
  const rows = keys.slice(Math.min(from, to), Math.max(from, to) + 1)
  return { ...range, end, before, selected: withRows(before, rows, range.selects) }
}

function withRows(selected: ReadonlySet<string>, keys: readonly string[], selects: boolean): ReadonlySet<string> {
  const next = new Set(selected)
  for (const key of keys) {
    if (selects) next.add(key)
    else next.delete(key)
  }
  return next
}

function haveSameKeys(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((key) => other.has(key))
}
