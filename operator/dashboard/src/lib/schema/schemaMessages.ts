/** What is said of a value that breaks the schema of its chart: a clause that follows the name of the value. */
import type { OutputUnit } from '@cfworker/json-schema'

import { member, pathOfPointer, type Value } from '~/lib/values/value'

/** A longer pattern or list of values is not repeated. */
const RULE_CHARACTERS_MAX = 200
const NOT_ALLOWED = "is not allowed by the chart's schema"

/** The order in which helm names types. */
const TYPES: Readonly<Record<string, string>> = {
  null: 'null',
  boolean: 'a boolean',
  number: 'a number',
  integer: 'an integer',
  string: 'a string',
  array: 'an array',
  object: 'an object',
}

/** Messages that need no more than the value of the keyword. */
const BOUNDS: Readonly<Record<string, (bound: string) => string>> = {
  minLength: (bound) => `is too short: at least ${bound} ${characters(bound)}`,
  maxLength: (bound) => `is too long: at most ${bound} ${characters(bound)}`,
  minItems: (bound) => `has too few items: at least ${bound}`,
  maxItems: (bound) => `has too many items: at most ${bound}`,
  minProperties: (bound) => `has too few keys: at least ${bound}`,
  maxProperties: (bound) => `has too many keys: at most ${bound}`,
  minimum: (bound) => `must be at least ${bound}`,
  maximum: (bound) => `must be at most ${bound}`,
  exclusiveMinimum: (bound) => `must be more than ${bound}`,
  exclusiveMaximum: (bound) => `must be less than ${bound}`,
  multipleOf: (bound) => `must be a multiple of ${bound}`,
  minContains: (bound) => `has too few items that the chart's schema asks for: at least ${bound}`,
  maxContains: (bound) => `has too many items that the chart's schema asks for: at most ${bound}`,
}

/** Of JSON schema before 2019, where a flag beside a bound excludes it. */
const EXCLUSIVE = { minimum: 'exclusiveMinimum', maximum: 'exclusiveMaximum' } as const

/**
 * Returns for example "must be at most 10". The gateway says the same of what helm finds
 * (`helm/results/schema_messages.py`); a table of both is in `schemaMessages.json`.
 */
export function schemaMessage(unit: OutputUnit, schema: Value): string {
  const { keyword, error } = unit
  const rule = ruleAt(schema, unit.keywordLocation)
  const bound = BOUNDS[boundKeyword(unit)]
  if (bound !== undefined && typeof rule === 'number') return bound(String(rule))
  if (keyword === 'required') return 'is required'
  if (keyword === 'false' || keyword === 'not') return NOT_ALLOWED
  if (keyword === 'type') return typeMessage(error)
  if (keyword === 'enum' && Array.isArray(rule)) return valuesMessage(rule)
  if (keyword === 'enum') return LONG_ENUM
  if (keyword === 'const') return rule === undefined ? CONST : constMessage(rule)
  if (keyword === 'pattern') return patternMessage(rule)
  if (keyword === 'format' && typeof rule === 'string') return `must have the format ${rule}`
  if (keyword === 'contains') return "has no item that the chart's schema asks for"
  if (keyword === 'uniqueItems') return equalItemsMessage(error)
  if (keyword === 'oneOf') return "matches several alternatives of the chart's schema, not exactly one"
  return `breaks the rule ${keyword} of the chart's schema`
}

function characters(bound: string): string {
  return bound === '1' ? 'character' : 'characters'
}

function boundKeyword({ keyword, error }: OutputUnit): string {
  const excludes = (keyword === 'minimum' || keyword === 'maximum') && error.includes('or equal to')
  return excludes ? EXCLUSIVE[keyword] : keyword
}

function typeMessage(error: string): string {
  const [, got = '', expected = ''] = /^Instance type "(\w+)" is invalid\. Expected "(.*)"\.$/s.exec(error) ?? []
  const wanted = new Set(expected.split('", "'))
  const names = Object.keys(TYPES).filter((type) => wanted.has(type))
  const must = `must be ${names.map((type) => TYPES[type]).join(' or ')}`
  // A number with a fraction.
  return got === 'number' && wanted.has('integer') ? must : `${must}, not ${TYPES[got] ?? got}`
}

const LONG_ENUM = "must be one of the values in the chart's schema"
const CONST = "must be the value in the chart's schema"

function valuesMessage(values: readonly Value[]): string {
  if (values.some(isCollection)) return LONG_ENUM
  const list = values.map(literal).join(', ')
  if (list.length > RULE_CHARACTERS_MAX) return LONG_ENUM
  return values.length === 1 ? `must be ${list}` : `must be one of ${list}`
}

function constMessage(value: Value): string {
  return isCollection(value) ? CONST : valuesMessage([value])
}

function isCollection(value: Value): boolean {
  return typeof value === 'object' && value !== null
}

function literal(value: Value): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
}

function patternMessage(rule: Value | undefined): string {
  if (typeof rule === 'string' && rule.length <= RULE_CHARACTERS_MAX) return `must match ${rule}`
  return "must match the pattern in the chart's schema"
}

function equalItemsMessage(error: string): string {
  const [one = '', other = ''] = error.match(/\d+/g) ?? []
  return `has equal items: [${one}] and [${other}]`
}

/** Returns what the schema has at a place that a check names, through references inside of the schema. */
function ruleAt(schema: Value, location: string): Value | undefined {
  return pathOfPointer(location).reduce<Value | undefined>((inner, key) => {
    const next = childOf(inner, key)
    const isReference = key === '$ref' && typeof next === 'string' && next.startsWith('#')
    return isReference ? pathOfPointer(next).reduce<Value | undefined>(childOf, schema) : next
  }, schema)
}

function childOf(value: Value | undefined, key: string): Value | undefined {
  return member(value, Array.isArray(value) ? Number(key) : key)
}
