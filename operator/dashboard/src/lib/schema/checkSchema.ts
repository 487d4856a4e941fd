/**
 * Checks of values against the schema of a chart, interpreted: no code is made from it.
 *
 * A schema is written by others, and its regular expressions can take forever. Run this in the worker only.
 */
import { Validator, type OutputUnit, type SchemaDraft } from '@cfworker/json-schema'

import { isObject, pathOfPointer, pathText, resolvePath, valueAt, type Path, type Value } from '~/lib/values/value'

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
  'contains',
  'propertyNames',
])

export function checkSchema(values: Value, schema: Value): SchemaCheck {
  if (!isObject(schema) && typeof schema !== 'boolean') return { checked: false, reason: 'The schema is no object.' }
  try {
    const validator = new Validator(schema, draftOf(schema), false)
    const { errors } = validator.validate(asNumbers(values))
    return { checked: true, problems: plainProblems(errors, values, schema) }
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

/** helm holds every number as a float64, and so do its checks. */
function asNumbers(value: Value): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(asNumbers)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, asNumbers(inner)]))
}

function plainProblems(errors: readonly OutputUnit[], values: Value, schema: Value): SchemaProblem[] {
  const seen = new Set<string>()
  const problems: SchemaProblem[] = []
  for (const error of errors) {
    if (problems.length === PROBLEMS_MAX) break
    if (OUTER_KEYWORDS.has(error.keyword) && hasCause(error, errors)) continue
    const place = resolvePath(values, pathOfPointer(error.instanceLocation))
    // The gateway names the missing value too, not what it is missing in.
    const path = error.keyword === 'required' ? [...place, missingProperty(error)] : place
    const problem = { path, message: plainMessage(error, schema) }
    const id = `${pathText(path)} ${problem.message}`
    if (!seen.has(id)) problems.push(problem)
    seen.add(id)
  }
  return problems
}

/** Whether another error says what failed inside of this one. */
function hasCause(error: OutputUnit, errors: readonly OutputUnit[]): boolean {
  const inside = error.instanceLocation
  return errors.some(
    (other) =>
      !OUTER_KEYWORDS.has(other.keyword) &&
      (other.instanceLocation === inside || other.instanceLocation.startsWith(`${inside}/`)),
  )
}

const RULE_CHARACTERS_MAX = 100

function missingProperty({ error }: OutputUnit): string {
  return /required property "(.*)"\.$/s.exec(error)?.[1] ?? ''
}

function plainMessage({ keyword, keywordLocation, error }: OutputUnit, schema: Value): string {
  if (keyword === 'required') return 'This is missing.'
  if (keyword === 'false' || keyword === 'additionalProperties') return 'The schema of the chart does not allow this.'
  const rule = keyword === 'pattern' ? valueAt(schema, pathOfPointer(keywordLocation)) : undefined
  if (typeof rule === 'string' && rule.length <= RULE_CHARACTERS_MAX) return `The text does not match ${rule}.`
  return error
    .replace(/^Instance type /, 'The type ')
    .replace(/^Instance /, 'The value ')
    .replace(/^String /, 'The text ')
}
