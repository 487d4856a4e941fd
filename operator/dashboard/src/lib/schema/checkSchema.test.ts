// @vitest-environment node
import { describe, expect, it } from 'vitest'

import { pathText, type Value } from '~/lib/values/value'

import { checkSchema } from './checkSchema'

const SCHEMA: Value = {
  $schema: 'https://json-schema.org/draft-07/schema#',
  type: 'object',
  required: ['owner'],
  additionalProperties: false,
  properties: {
    owner: { type: 'string', minLength: 2 },
    replicas: { type: 'integer', minimum: 1 },
    image: { type: 'object', properties: { tag: { type: 'string', pattern: '^[0-9.]+$' } } },
    hosts: { type: 'array', items: { $ref: '#/definitions/host' } },
    id: { type: 'integer' },
  },
  definitions: { host: { type: 'object', required: ['name'] } },
}

function problems(values: Value, schema: Value = SCHEMA): [string, string][] {
  const check = checkSchema(values, schema)
  if (!check.checked) throw new Error(check.reason)
  return check.problems.map(({ path, message }) => [pathText(path), message])
}

describe('values against the schema of a chart', () => {
  it('pass', () => {
    expect(problems({ owner: 'jane', replicas: 2, id: 9007199254740993n, hosts: [{ name: 'a' }] })).toEqual([])
  })

  it('fail where they stand, once each', () => {
    const found = problems({ owner: 'j', replicas: 0, image: { tag: 'x' }, hosts: [{ name: 'a' }, {}], extra: 1 })
    expect(found.map(([path]) => path).sort()).toEqual(['extra', 'hosts[1].name', 'image.tag', 'owner', 'replicas'])
    expect(Object.fromEntries(found)['hosts[1].name']).toBe('is required')
    expect(Object.fromEntries(found)['image.tag']).toBe('must match ^[0-9.]+$')
    expect(Object.fromEntries(found).extra).toBe("is not allowed by the chart's schema")
  })

  it('name a wrong type', () => {
    expect(problems({ owner: 5 })).toEqual([['owner', 'must be a string, not a number']])
  })

  it('are not checked where the schema refers to other documents', () => {
    const check = checkSchema({ a: 1 }, { properties: { a: { $ref: 'https://example.com/x.json' } } })
    expect(check.checked).toBe(false)
  })

  it('are not checked by a pattern that is no regular expression', () => {
    expect(checkSchema({ a: 'x' }, { properties: { a: { type: 'string', pattern: '(' } } }).checked).toBe(false)
  })
})
