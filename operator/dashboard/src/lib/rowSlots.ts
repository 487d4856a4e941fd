/** Rows of a table that are drawn again and again in the same elements. */

/** The key of a row → the number of the elements that show it. */
export type RowSlots = ReadonlyMap<string, number>

/**
 * Returns where to show rows with these keys. A row that was shown before stays in its elements; a new one takes those
 * of a row that is gone: to change texts takes a browser a fraction of the time that new elements take.
 */
export function assignSlots(before: RowSlots, keys: readonly string[]): RowSlots {
  const wanted = new Set(keys)
  const free = [...before].filter(([key]) => !wanted.has(key)).map(([, slot]) => slot)
  let next = Math.max(-1, ...before.values()) + 1
  let reused = 0
  return new Map(keys.map((key) => [key, before.get(key) ?? free[reused++] ?? next++]))
}
