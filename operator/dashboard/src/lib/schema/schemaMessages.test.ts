// @vitest-environment node
import { readFileSync } from 'node:fs'

import { expect, it } from 'vitest'

import { pathText, type Value } from '~/lib/values/value'

import { checkSchema } from './checkSchema'

interface Row {
  schema: Value
  value: Value
  says: Record<string, string>
}

/** What the gateway says of what helm finds is tested with the same table. */
const TABLE = JSON.parse(readFileSync(new URL('./schemaMessages.json', import.meta.url), 'utf8')) as Row[]
const DRAFT_7 = 'http://json-schema.org/draft-07/schema#'

function messages(value: Value, schema: Value, $schema = DRAFT_7): Record<string, string> {
  const check = checkSchema({ v: value }, { $schema, properties: { v: schema } })
  if (!check.checked) throw new Error(check.reason)
  return Object.fromEntries(check.problems.map(({ path, message }) => [pathText(path), message]))
}

it.each(TABLE)('$says', ({ schema, value, says }) => {
  expect(messages(value, schema)).toEqual(says)
})

it('names the rule behind references, and in a list of schemas', () => {
  const schema = {
    $schema: DRAFT_7,
    properties: { v: { allOf: [{ $ref: '#/definitions/port' }] } },
    definitions: { port: { $ref: '#/definitions/number' }, number: { maximum: 10 } },
  }
  const check = checkSchema({ v: 11 }, schema)
  expect(check).toEqual({ checked: true, problems: [{ path: ['v'], message: 'must be at most 10' }] })
})

it('names the key that may not be, and why', () => {
  expect(messages({ A: 1 }, { propertyNames: { pattern: '^[a-z]+$' } })).toEqual({
    v: "has the key A, which the chart's schema refuses: must match ^[a-z]+$",
  })
})

it('knows the rules of other versions of JSON schema', () => {
  const draft4 = 'http://json-schema.org/draft-04/schema#'
  expect(messages(3, { minimum: 3, exclusiveMinimum: true }, draft4)).toEqual({ v: 'must be more than 3' })
  const current = 'https://json-schema.org/draft/2020-12/schema'
  expect(messages({ a: 1 }, { dependentRequired: { a: ['b'] } }, current)).toEqual({
    'v.b': 'is required if a is given',
  })
  expect(messages([1, 2], { contains: { type: 'string' }, minContains: 2 }, current)).toEqual({
    v: "has too few items that the chart's schema asks for: at least 2",
  })
  // helm does not check formats there, whatever values may be called.
  expect(messages('x', { anyOf: [{ format: 'email' }, { type: 'null' }] }, current)).toEqual({})
  expect(messages({ format: 1 }, { properties: { format: { maximum: 0 } } }, current)).toEqual({
    'v.format': 'must be at most 0',
  })
})
