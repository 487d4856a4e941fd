/**
 * The schema that a form is made of: that of the chart, with what its defaults show and the schema leaves out.
 *
 * It has only what a form uses, so that no reference leads to anything else. Left out are above all defaults (they are
 * placeholders, and never written), regular expressions (they run in the worker only) and references to other documents.
 */
import { isObject, member, setMember, type Value, type ValueObject } from '~/lib/values/value'

/** A field that takes any scalar, as YAML would read it. */
export const ANY_SCALAR = 'x-any-scalar'

/** Kept with what is no object: a reference into one would make a schema of it. */
const PLAIN_KEYWORDS = new Set([
  'title',
  'description',
  'type',
  'enum',
  'const',
  'required',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'readOnly',
])
const SCHEMAS_BY_NAME = new Set(['properties', 'definitions', '$defs'])
const SCHEMA_LISTS = new Set(['allOf', 'anyOf', 'oneOf'])
const SCHEMAS = new Set(['items', 'additionalItems', 'additionalProperties'])

const SAYS_KEYS = ['properties', 'additionalProperties', '$ref', 'allOf', 'anyOf', 'oneOf', 'const', 'enum']

/** Beyond these, a form would be slow, and of no use to a person. */
const FIELDS_MAX = 1_500
const DEPTH_MAX = 20

/** Said of a chart that tells nothing of its values. */
export const NOTHING_TO_SHOW =
  'This chart has neither a schema nor default values, so there is nothing for a form. Use YAML.'

export type FormSchema = { schema: ValueObject } | { refused: string }

export function formSchema(schema: Value | null, defaults: ValueObject): FormSchema {
  const budget = { fields: FIELDS_MAX, deep: false }
  const fromChart = isObject(schema) ? reduced(schema, 0, budget) : {}
  leaveOutReferences(fromChart, fromChart)
  const whole = withDefaults(fromChart, defaults, budget, 0)
  if (budget.deep) return { refused: 'The schema of this chart is nested too deeply for a form. Use YAML.' }
  if (budget.fields < 0) return { refused: `This chart has more than ${FIELDS_MAX} values. Use YAML.` }
  const branches = [whole.oneOf, whole.anyOf, whole.allOf, whole.$ref]
  const fields = isObject(whole.properties) ? Object.keys(whole.properties).length : 0
  if (fields === 0 && !isObject(fromChart.additionalProperties) && branches.every((branch) => branch === undefined)) {
    return { refused: NOTHING_TO_SHOW }
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
    const kept = reducedMember(key, value, depth, budget)
    if (kept !== undefined) setMember(result, key, kept)
  }
  if (isObject(schema.patternProperties) && result.additionalProperties === undefined)
    result.additionalProperties = true
  return withType(result)
}

/** Undefined for what is left out. */
function reducedMember(key: string, value: Value, depth: number, budget: Budget): Value | undefined {
  const inner = (each: Value): Value => (isObject(each) ? reduced(each, depth + 1, budget) : each !== false)
  if (SCHEMAS_BY_NAME.has(key)) return isObject(value) ? mapValues(value, inner) : undefined
  if (SCHEMA_LISTS.has(key)) return Array.isArray(value) ? value.map(inner) : undefined
  if (SCHEMAS.has(key)) return Array.isArray(value) ? value.map(inner) : inner(value)
  if (key === '$ref') return typeof value === 'string' ? value : undefined
  const isPlain = Array.isArray(value) ? value.every(isScalar) : isScalar(value)
  return PLAIN_KEYWORDS.has(key) && isPlain ? value : undefined
}

function isScalar(value: Value): boolean {
  return typeof value !== 'object' || value === null
}

function mapValues(object: ValueObject, change: (value: Value) => Value): ValueObject {
  const result: ValueObject = {}
  for (const [key, value] of Object.entries(object)) setMember(result, key, change(value))
  return result
}

/** Leaves out references to other documents, and to what is no schema. */
function leaveOutReferences(schema: Value | undefined, root: ValueObject): void {
  if (!isObject(schema)) return
  if (typeof schema.$ref === 'string' && schemaOfReference(root, schema.$ref) === undefined)
    Reflect.deleteProperty(schema, '$ref')
  for (const [key, value] of Object.entries(schema)) {
    const below = SCHEMAS_BY_NAME.has(key) && isObject(value) ? Object.values(value) : value
    if (Array.isArray(below)) for (const each of below) leaveOutReferences(each, root)
    else leaveOutReferences(below, root)
  }
}

/** What a reference of a reduced schema leads to; the form library looks in the same place. */
export function schemaOfReference(root: ValueObject, reference: string): ValueObject | undefined {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined
  let keys: string[]
  try {
    keys = decodeURIComponent(reference).split('/').slice(1)
  } catch {
    return undefined
  }
  let schema: Value | undefined = root
  let names: Value | undefined
  for (const key of keys.map((each) => each.replaceAll('~1', '/').replaceAll('~0', '~'))) {
    if (names === undefined) {
      const below: Value | undefined = member(schema, key)
      if (SCHEMAS_BY_NAME.has(key) || Array.isArray(below)) names = below
      else if (!SCHEMAS.has(key)) return undefined
      schema = below
    } else {
      schema = Array.isArray(names) ? member(names, /^\d+$/.test(key) ? Number(key) : -1) : member(names, key)
      names = undefined
    }
  }
  return names === undefined && isObject(schema) ? schema : undefined
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
  if (schema.additionalProperties === true || isBareObject(schema))
    return { ...schema, additionalProperties: anyScalar() }
  return schema
}

/** An object about whose keys nothing is said takes any. */
function isBareObject(schema: ValueObject): boolean {
  return schema.type === 'object' && SAYS_KEYS.every((keyword) => schema[keyword] === undefined)
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
