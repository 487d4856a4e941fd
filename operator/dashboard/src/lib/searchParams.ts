/**
 * Search parameters of a page: parsed, checked, and written back without those that have their default value.
 *
 * A parameter that does not parse is dropped; the page then shows a note with its name.
 */

import { parseDuration } from '~/lib/time'

export interface ParamCodec<T> {
  readonly fallback: T
  /** Returns undefined for values that this parameter cannot have. `values` is never empty. */
  parse: (values: readonly string[]) => T | undefined
  /** Returns the values to write. */
  format: (value: T) => readonly string[]
}

export type SearchCodec<T extends object> = { readonly [K in keyof T]: ParamCodec<T[K]> }
export type SearchOf<C> = C extends SearchCodec<infer T> ? T : never

/** The flat form of a query, as the router keeps it. */
export type RawSearch = Record<string, string | readonly string[]>

const TEXT_MAX = 2000
const LIST_MAX = 50
/** What the gateway refuses in names and searches: control characters, line separators and marks of text direction. */
const CONTROL_CHARACTER = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/u

function isText(value: string): boolean {
  return value.length <= TEXT_MAX && !CONTROL_CHARACTER.test(value)
}

/** A text; surrounding blanks are removed. */
export function text(fallback = ''): ParamCodec<string> {
  return {
    fallback,
    parse: ([value = '', ...others]) =>
      others.length > 0 || !isText(value) ? undefined : value.trim() === '' ? fallback : value.trim(),
    format: (value) => [value],
  }
}

export function integer({ min, max, fallback }: { min: number; max?: number; fallback: number }): ParamCodec<number> {
  return {
    fallback,
    parse: ([value = '', ...others]) => {
      if (others.length > 0 || !/^\d{1,15}$/.test(value)) return undefined
      const number = Number(value)
      return number < min || (max !== undefined && number > max) ? undefined : number
    },
    format: (value) => [String(value)],
  }
}

/** A whole number that may be missing. */
export function optionalInteger({ min }: { min: number }): ParamCodec<number | null> {
  const inner = integer({ min, fallback: min })
  return { fallback: null, parse: inner.parse, format: (value) => (value === null ? [] : [String(value)]) }
}

/** One of some words; the first is the default unless `fallback` is given. */
export function oneOf<const W extends readonly [string, ...string[]]>(
  words: W,
  fallback: W[number] = words[0],
): ParamCodec<W[number]> {
  return {
    fallback,
    parse: ([value, ...others]) => (others.length > 0 ? undefined : words.find((word) => word === value)),
    format: (value) => [value],
  }
}

const PERIOD_MAX_SECONDS = 366 * 24 * 60 * 60
const TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[-+]\d\d:\d\d)$/

/** How far back: seconds, a duration such as 1h30m, or a time such as 2026-11-20T08:00:00Z; empty: no limit. */
export function period(): ParamCodec<string> {
  const inner = text()
  return {
    ...inner,
    parse: (values) => {
      const value = inner.parse(values)
      if (value === undefined || value === '' || TIME.test(value)) return value
      const seconds = /^\d{1,15}$/.test(value) ? Number(value) : parseDuration(value)
      return seconds !== null && seconds > 0 && seconds <= PERIOD_MAX_SECONDS ? value : undefined
    },
  }
}

/** Several texts: the name repeated. */
export function texts(): ParamCodec<readonly string[]> {
  return {
    fallback: [],
    parse: (values) => {
      const given = [...new Set(values.map((value) => value.trim()).filter((value) => value !== ''))]
      return given.length > LIST_MAX || !given.every(isText) ? undefined : given
    },
    format: (value) => value,
  }
}

/** Returns the names in the text of a field: between commas or blanks. */
export function splitNames(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '')
}

/** Returns the text of a field with these names. */
export function joinNames(names: readonly string[]): string {
  return names.join(', ')
}

/** Several of some words: the name repeated. */
export function someOf<const W extends readonly string[]>(words: W): ParamCodec<readonly W[number][]> {
  return {
    fallback: [],
    parse: (values) => {
      const given = [...new Set(values.filter((value) => value !== ''))]
      return given.every((value) => words.includes(value)) ? given : undefined
    },
    format: (value) => value,
  }
}

/** true or false. */
export function flag(fallback = false): ParamCodec<boolean> {
  return {
    fallback,
    parse: ([value, ...others]) =>
      others.length > 0 ? undefined : value === 'true' ? true : value === 'false' ? false : undefined,
    format: (value) => [String(value)],
  }
}

/** Returns every parameter, those with a bad value or no codec at their default, and their names in `dropped`. */
export function readSearch<T extends object>(
  codec: SearchCodec<T>,
  raw: Readonly<Record<string, unknown>>,
): { search: T; dropped: string[] } {
  const dropped = Object.keys(raw).filter((name) => !Object.hasOwn(codec, name))
  const search = {} as T
  for (const name of namesOf(codec)) {
    const param = codec[name]
    const values = valuesOf(raw[name])
    const parsed = values.length === 0 ? param.fallback : param.parse(values)
    if (parsed === undefined) dropped.push(name)
    search[name] = parsed ?? param.fallback
  }
  return { search, dropped }
}

/** Returns what belongs into the URL: the parameters that differ from their default, in the order of the codec. */
export function writeSearch<T extends object>(codec: SearchCodec<T>, search: Readonly<Partial<T>>): RawSearch {
  const raw: RawSearch = {}
  for (const name of namesOf(codec)) {
    const value = search[name]
    const param = codec[name]
    if (value === undefined) continue
    const values = param.format(value)
    if (values.length === 0 || sameTexts(values, param.format(param.fallback))) continue
    raw[name] = values.length === 1 ? (values[0] ?? '') : values
  }
  return raw
}

/** Returns the flat form of a query string; a name that repeats has a list. */
export function parseQuery(query: string): RawSearch {
  const raw = Object.create(null) as RawSearch
  for (const [name, value] of new URLSearchParams(query)) {
    const known = raw[name]
    raw[name] = known === undefined ? value : [...(typeof known === 'string' ? [known] : known), value]
  }
  return raw
}

/** Returns the query string of a flat form, with the question mark, or an empty text. */
export function formatQuery(raw: Readonly<Record<string, unknown>>): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(raw)) for (const each of valuesOf(value)) params.append(name, each)
  const query = params.toString()
  return query === '' ? '' : `?${query}`
}

function namesOf<T extends object>(codec: SearchCodec<T>): (keyof T & string)[] {
  return Object.keys(codec) as (keyof T & string)[]
}

function valuesOf(value: unknown): string[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value.map(String)
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? [String(value)] : []
}

function sameTexts(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index])
}
