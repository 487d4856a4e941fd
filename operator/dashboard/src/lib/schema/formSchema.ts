/**
 * The schema that a form is made of: that of the chart, with what its defaults show and the schema leaves out.
 *
 * Left out are defaults (they are placeholders, and never written), regular expressions (they run in the worker only)
 * and references to other documents.
 */
import { isObject, member, setMember, type Value, type ValueObject } from '~/lib/values/value'

/** A field that takes any scalar, as YAML would read it. */
export const ANY_SCALAR = 'x-any-scalar'

const LEFT_OUT = new Set([
  'default',
  'pattern',
  'format',
  'patternProperties',
  '$schema',
  '$id',
  'id',
  'examples',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
  'propertyNames',
  'unevaluatedProperties',
  'unevaluatedItems',
  'if',
  'then',
  'else',
  'not',
  'contentEncoding',
  'contentMediaType',
])
const SCHEMAS_BY_NAME = new Set(['properties', 'definitions', '$defs'])
const SCHEMA_LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])

/** Beyond these, a form would be slow, and of no use to a person. */
const FIELDS_MAX = 1_500
const DEPTH_MAX = 20

export type FormSchema = { schema: ValueObject } | { refused: string }

export function formSchema(schema: Value | null, defaults: ValueObject): FormSchema {
  const budget = { fields: FIELDS_MAX, deep: false }
  const fromChart = isObject(schema) ? reduced(schema, 0, budget) : {}
  const whole = withDefaults(fromChart, defaults, budget, 0)
  if (budget.deep) return { refused: 'The schema of this chart is nested too deeply for a form. Use YAML.' }
  if (budget.fields < 0) return { refused: `This chart has more than ${FIELDS_MAX} values. Use YAML.` }
  const branches = [whole.oneOf, whole.anyOf, whole.allOf, whole.$ref]
  const fields = isObject(whole.properties) ? Object.keys(whole.properties).length : 0
  if (fields === 0 && !isObject(fromChart.additionalProperties) && branches.every((branch) => branch === undefined)) {
    return { refused: 'This chart has neither a schema nor default values, so there is nothing for a form. Use YAML.' }
  }
  return { schema: { ...whole, type: 'object', title: '' } }
}

interface Budget {
  fields: number
  deep: boolean
}

function reduced(schema: ValueObject, depth: number, budget: Budget): ValueObject {
  budget.fields -= 1
  if (depth > DEPTH_MAX) budget.deep = true
  if (budget.deep || budget.fields < 0) return {}
  const result: ValueObject = {}
  for (const [key, value] of Object.entries(schema)) {
    if (LEFT_OUT.has(key)) continue
    if (key === '$ref' && !(typeof value === 'string' && value.startsWith('#'))) continue
    setMember(result, key, reducedMember(key, value, depth, budget))
  }
  if (isObject(schema.patternProperties) && result.additionalProperties === undefined)
    result.additionalProperties = true
  return withType(result)
}

function reducedMember(key: string, value: Value, depth: number, budget: Budget): Value {
  const inner = (each: Value): Value => (isObject(each) ? reduced(each, depth + 1, budget) : each)
  if (SCHEMAS_BY_NAME.has(key) && isObject(value)) return mapValues(value, inner)
  if (SCHEMA_LISTS.has(key) && Array.isArray(value)) return value.map(inner)
  if (key === 'additionalProperties') return isObject(value) ? inner(value) : value
  if (key === 'items') return Array.isArray(value) ? value.map(inner) : inner(value)
  return value
}

function mapValues(object: ValueObject, change: (value: Value) => Value): ValueObject {
  const result: ValueObject = {}
  for (const [key, value] of Object.entries(object)) setMember(result, key, change(value))
  return result
}

/** A form needs one type for each field. */
function withType(schema: ValueObject): ValueObject {
  const { type } = schema
  if (Array.isArray(type)) {
    const types = type.filter((each) => each !== 'null')
    const [only] = types
    if (types.length === 1 && only !== undefined) return { ...schema, type: only }
    if (types.includes('object')) return { ...schema, type: 'object' }
    if (types.includes('array')) return { ...schema, type: 'array' }
    return { ...schema, type: 'string', [ANY_SCALAR]: true }
  }
  if (schema.additionalProperties === true) return { ...schema, additionalProperties: anyScalar() }
  return schema
}

function anyScalar(): ValueObject {
  return { type: 'string', [ANY_SCALAR]: true }
}

/** Adds fields for values that the chart has, but its schema does not describe. */
function withDefaults(schema: ValueObject, defaults: Value, budget: Budget, depth: number): ValueObject {
  if (typeof schema.$ref === 'string' || Array.isArray(schema.oneOf) || Array.isArray(schema.anyOf)) return schema
  if (!isObject(defaults)) return isUntyped(schema) ? { ...schema, ...inferred(defaults, budget, depth) } : schema
  if (schema.type !== undefined && schema.type !== 'object') return schema
  const described = isObject(schema.properties) ? schema.properties : {}
  const properties: ValueObject = {}
  for (const [key, value] of Object.entries(described)) {
    const below = member(defaults, key)
    setMember(
      properties,
      key,
      isObject(value) && below !== undefined ? withDefaults(value, below, budget, depth + 1) : value,
    )
  }
  for (const [key, value] of Object.entries(defaults)) {
    if (Object.hasOwn(properties, key) || schema.additionalProperties === false) continue
    setMember(properties, key, inferred(value, budget, depth + 1))
  }
  const open = Object.keys(properties).length === 0 && schema.additionalProperties === undefined
  return { ...schema, type: 'object', properties, ...(open ? { additionalProperties: anyScalar() } : {}) }
}

function isUntyped(schema: ValueObject): boolean {
  return (
    schema.type === undefined &&
    schema.enum === undefined &&
    schema.const === undefined &&
    schema.properties === undefined
  )
}

function inferred(value: Value, budget: Budget, depth: number): ValueObject {
  budget.fields -= 1
  if (depth > DEPTH_MAX) budget.deep = true
  if (budget.deep || budget.fields < 0) return {}
  if (Array.isArray(value))
    return { type: 'array', items: value[0] === undefined ? anyScalar() : inferred(value[0], budget, depth + 1) }
  if (isObject(value)) return withDefaults({}, value, budget, depth)
  if (typeof value === 'boolean') return { type: 'boolean' }
  if (typeof value === 'bigint' || Number.isInteger(value)) return { type: 'integer' }
  if (typeof value === 'number') return { type: 'number' }
  if (typeof value === 'string') return { type: 'string' }
  return anyScalar()
}
