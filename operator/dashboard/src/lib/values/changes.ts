import { isObject, sameValue, type Path, type Value } from './value'
import type { Edit } from './yamlEdit'

/** The fewest edits that make `before` into `after`, as a form reports its data: whole, after each key pressed. */
export function editsBetween(before: Value, after: Value, path: Path = []): Edit[] {
  if (sameValue(before, after)) return []
  if (isObject(before) && isObject(after)) {
    const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
    const kept = Object.keys(after).flatMap((key): Edit[] => {
      const value = after[key] as Value
      if (!Object.hasOwn(before, key)) return [{ kind: 'set', path: [...path, key], value }]
      return editsBetween(before[key] as Value, value, [...path, key])
    })
    return [...removed.map((key): Edit => ({ kind: 'remove', path: [...path, key] })), ...kept]
  }
  if (Array.isArray(before) && Array.isArray(after)) return editsOfList(before, after, path)
  return [{ kind: 'set', path, value: after }]
}

function editsOfList(before: readonly Value[], after: Value[], path: Path): Edit[] {
  if (before.length === after.length) {
    return after.flatMap((value, index) => editsBetween(before[index] as Value, value, [...path, index]))
  }
  const start = before.findIndex((value, index) => index >= after.length || !sameValue(value, after[index]))
  if (start < 0) {
    return after
      .slice(before.length)
      .map((value, index) => ({ kind: 'set', path: [...path, before.length + index], value }))
  }
  const gone = before.length - after.length
  const tailStays =
    gone > 0 && after.slice(start).every((value, index) => sameValue(value, before[start + gone + index]))
  if (!tailStays) return [{ kind: 'set', path, value: after }]
  return Array.from({ length: gone }, () => ({ kind: 'remove', path: [...path, start] }))
}
