import { isObject, member, setMember, type Value, type ValueObject } from '~/lib/values/value'
import { parseYaml } from '~/lib/values/yamlDocument'

/**
 * Before the digits of a whole number beyond 2^53. The form library cannot hold a bigint, and would round a number; a
 * text of values cannot have this character.
 */
const BIG_INTEGER_MARK = '\0'

/** Values as the form library can hold them. */
export function formData(value: Value): unknown {
  if (typeof value === 'bigint') return `${BIG_INTEGER_MARK}${value}`
  if (Array.isArray(value)) return value.map(formData)
  if (!isObject(value)) return value
  const result: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value)) setMember(result as ValueObject, key, formData(inner) as Value)
  return result
}

/** One value of a form, as it stands in the values. */
export function scalarFromForm(data: unknown): Value | undefined {
  if (typeof data === 'string' && data.startsWith(BIG_INTEGER_MARK)) return BigInt(data.slice(1))
  return data as Value | undefined
}

/**
 * What a form reports, as values: fields without an entry and objects that only exist in the form are left out, so
 * that nothing is written that nobody wrote.
 *
 * `below`: what helm merges below the values. A list replaces the one below it, so a new list begins with its items.
 */
export function valuesFromForm(before: Value | undefined, after: unknown, below?: Value): Value | undefined {
  if (after === undefined) return undefined
  if (Array.isArray(after)) {
    const first = before === undefined && Array.isArray(below) ? below : []
    const items = Array.isArray(before) ? before : first
    const given = after.map((item: unknown, index) => {
      const lower = first.length > 0 ? undefined : items[index]
      return valuesFromForm(lower, item) ?? emptyItem(items)
    })
    return before === undefined && given.length === 0 ? undefined : [...first, ...given]
  }
  if (typeof after !== 'object' || after === null) return scalarFromForm(after)
  const result: ValueObject = {}
  for (const [key, value] of Object.entries(after)) {
    const lower = isObject(before) && Object.hasOwn(before, key) ? before[key] : undefined
    const kept = valuesFromForm(lower, value, member(below, key))
    const madeByForm = isObject(kept) && Object.keys(kept).length === 0 && lower === undefined
    if (kept !== undefined && !madeByForm) setMember(result, key, kept)
  }
  return result
}

/** A new item of a list is a text where its neighbours are. */
function emptyItem(items: readonly Value[]): Value {
  return items.length === 0 || items.every((item) => typeof item === 'string') ? '' : null
}

export type ScalarKind = 'string' | 'integer' | 'number' | 'any'

/** What a person wrote into a field; undefined for nothing, null if it is not of that kind. */
export function readScalar(text: string, kind: ScalarKind): Value | undefined {
  if (text === '') return undefined
  if (kind === 'string') return text
  const { values, problems } = parseYaml(`v: ${text.trim()}\n`)
  const value = values.v
  if (kind === 'any')
    return problems.length > 0 || value === undefined || isObject(value) || Array.isArray(value) ? text : value
  if (typeof value === 'bigint') return value
  return typeof value === 'number' && (kind === 'number' || Number.isInteger(value)) ? value : null
}

/** A value as a field shows it. */
export function scalarText(value: Value | undefined): string {
  if (value === undefined) return ''
  if (value === null) return 'null'
  return typeof value === 'object'
    ? JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner))
    : String(value)
}
