/**
 * Checks of values against the schema of a chart, interpreted: no code is made from it.
 *
 * A schema is written by others, and its regular expressions can take forever. Run this in the worker only.
 */
import { Validator, type OutputUnit, type SchemaDraft } from '@cfworker/json-schema'

import { isObject, pathOfPointer, pathText, resolvePath, type Path, type Value } from '~/lib/values/value'

import { schemaMessage } from './schemaMessages'

export interface SchemaProblem {
  path: Path
  message: string
}

export type SchemaCheck = { checked: true; problems: SchemaProblem[] } | { checked: false; reason: string }

const PROBLEMS_MAX = 100

/** Keywords whose errors only say that something inside of them failed. */
const OUTER_KEYWORDS = new Set([
  'properties',
  'patternProperties',
  'additionalProperties',
  'unevaluatedProperties',
  'items',
  'prefixItems',
  'additionalItems',
  'unevaluatedItems',
  'allOf',
  '$ref',
  '$recursiveRef',
  'dependentSchemas',
  'dependencies',
  'if',
  'then',
  'else',
])

/** Keywords whose error is followed by errors that only say why. */
const INSIDE = new Set(['anyOf', 'oneOf', 'propertyNames', 'contains'])

/** Later versions of JSON schema only note formats, and so does helm. */
const HAS_FORMATS: ReadonlySet<SchemaDraft> = new Set<SchemaDraft>(['4', '7'])

export function checkSchema(values: Value, schema: Value): SchemaCheck {
  if (!isObject(schema) && typeof schema !== 'boolean') return { checked: false, reason: 'The schema is no object.' }
  try {
    const draft = draftOf(schema)
    const rules = HAS_FORMATS.has(draft) ? schema : withoutFormats(schema)
    const { errors } = new Validator(rules, draft, false).validate(asNumbers(values))
    return { checked: true, problems: plainProblems(relevantErrors(errors), values, schema) }
  } catch {
    return {
      checked: false,
      reason: 'The schema refers to other documents or breaks its own rules, so the values are not checked here.',
    }
  }
}

function draftOf(schema: Value): SchemaDraft {
  const id = isObject(schema) && typeof schema.$schema === 'string' ? schema.$schema : ''
  if (id.includes('draft-04')) return '4'
  if (id.includes('draft-06') || id.includes('draft-07')) return '7'
  if (id.includes('2019-09')) return '2019-09'
  return '2020-12'
}

const DATA_KEYWORDS = new Set(['enum', 'const', 'default', 'examples'])

function withoutFormats<S extends Value>(schema: S): S
function withoutFormats(schema: Value): Value {
  if (Array.isArray(schema)) return schema.map((each) => withoutFormats(each))
  if (!isObject(schema)) return schema
  const kept = Object.entries(schema).filter(([key, inner]) => key !== 'format' || typeof inner !== 'string')
  return Object.fromEntries(kept.map(([key, inner]) => [key, DATA_KEYWORDS.has(key) ? inner : withoutFormats(inner)]))
}

/** helm holds every number as a float64, and so do its checks. */
function asNumbers(value: Value): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(asNumbers)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, asNumbers(inner)]))
}

/** Returns the errors without those of items that do not count: they come before the one that there are too few. */
function relevantErrors(errors: readonly OutputUnit[]): readonly OutputUnit[] {
  const counted = errors.filter(({ keyword }) => keyword === 'minContains')
  const items = counted.map(({ keywordLocation }) => keywordLocation.replace(/minContains$/, 'contains/'))
  return errors.filter(({ keywordLocation }) => !items.some((start) => keywordLocation.startsWith(start)))
}

function plainProblems(errors: readonly OutputUnit[], values: Value, schema: Value): SchemaProblem[] {
  const seen = new Set<string>()
  const problems: SchemaProblem[] = []
  for (let at = 0; at < errors.length && problems.length < PROBLEMS_MAX; at += 1) {
    const error = errors[at]
    if (error === undefined || isOuter(error)) continue
    const inner = INSIDE.has(error.keyword) ? errorsInside(errors, at) : []
    at += inner.length
    const path = pathOf(error, values)
    const problem = { path, message: messageOf(error, inner, { values, schema, path }) }
    const id = `${pathText(path)} ${problem.message}`
    if (!seen.has(id)) problems.push(problem)
    seen.add(id)
  }
  return problems
}

function isOuter(error: OutputUnit): boolean {
  return OUTER_KEYWORDS.has(error.keyword) && neededBeside(error) === null
}

/** Returns the errors that follow the one at an index, and lie in its part of the schema. */
function errorsInside(errors: readonly OutputUnit[], at: number): readonly OutputUnit[] {
  const start = errors[at]?.keywordLocation ?? ''
  const following = errors.slice(at + 1)
  const end = following.findIndex(
    // The place of a false schema is that of the value.
    ({ keyword, keywordLocation }) => keyword !== 'false' && !keywordLocation.startsWith(`${start}/`),
  )
  return end === -1 ? following : following.slice(0, end)
}

/** Returns the place that the gateway names too: the missing value, not what it is missing in. */
function pathOf(error: OutputUnit, values: Value): Path {
  const place = resolvePath(values, pathOfPointer(error.instanceLocation))
  const missing = missingProperty(error)
  return missing === null ? place : [...place, missing]
}

/** Returns the name of a value that has to be given; null if the error is another one. */
function missingProperty({ keyword, error }: OutputUnit): string | null {
  if (keyword === 'required') return /required property "(.*)"\.$/s.exec(error)?.[1] ?? ''
  return neededBeside({ keyword, error })?.[1] ?? null
}

/** Returns the name of a value, and that of another one which it needs beside it. */
function neededBeside({ keyword, error }: Pick<OutputUnit, 'keyword' | 'error'>): [string, string] | null {
  if (keyword !== 'dependencies' && keyword !== 'dependentRequired') return null
  const [, given, missing] = /^Instance has "(.*)" but does not have "(.*)"\.$/s.exec(error) ?? []
  return given === undefined || missing === undefined ? null : [given, missing]
}

interface Place {
  values: Value
  schema: Value
  path: Path
}

function messageOf(error: OutputUnit, inner: readonly OutputUnit[], place: Place): string {
  const given = neededBeside(error)?.[0]
  if (given !== undefined) return `is required if ${given} is given`
  if (error.keyword === 'propertyNames') {
    const key = /^Property name "(.*)" does not match schema\.$/s.exec(error.error)?.[1] ?? ''
    const reasons = innerMessages(inner, { ...place, path: [...place.path, key] })
    return `has the key ${key}, which the chart's schema refuses: ${reasons}`
  }
  const matchesNone = error.keyword === 'anyOf' || error.error.includes('(0 matches)')
  if (matchesNone) return `matches none of the alternatives: ${innerMessages(inner, place)}`
  return schemaMessage(error, place.schema)
}

/** Returns the messages of errors inside of another one, each once, with their paths below it. */
function innerMessages(inner: readonly OutputUnit[], { values, schema, path }: Place): string {
  const plain = inner.filter((error) => !isOuter(error) && !INSIDE.has(error.keyword))
  const messages = plain.map((error) => {
    const below = pathText(pathOf(error, values).slice(path.length))
    const message = schemaMessage(error, schema)
    return below === '' ? message : `${below} ${message}`
  })
  return [...new Set(messages)].join('; ')
}
