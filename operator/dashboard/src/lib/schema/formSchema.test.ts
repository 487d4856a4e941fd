// @vitest-environment node
import { describe, expect, it } from 'vitest'

import type { Value, ValueObject } from '~/lib/values/value'

import { readScalar, scalarText, valuesFromForm } from './formData'
import { isTooLarge } from './formCost'
import { ANY_SCALAR, formSchema } from './formSchema'

function made(schema: Value | null, defaults: ValueObject = {}): ValueObject {
  const result = formSchema(schema, defaults)
  if ('refused' in result) throw new Error(result.refused)
  return result.schema
}

describe('the schema of a form', () => {
  it('has neither defaults nor regular expressions nor other documents', () => {
    const text = JSON.stringify(
      made({
        properties: {
          a: { type: 'string', pattern: '(a+)+$', default: 'x' },
          b: { $ref: 'https://example.com/s.json' },
          c: { $ref: '#/definitions/d' },
          e: { type: 'object', patternProperties: { '(a+)+$': {} } },
        },
        definitions: { d: { type: 'string', format: 'regex' } },
      }),
    )
    expect(text).not.toMatch(/pattern|\(a\+\)|default|https:|format/)
    expect(text).toContain('#/definitions/d')
  })

  it('has no regular expression, wherever a chart puts one', () => {
    const evil = { type: 'string', pattern: '(a+)+$', format: '(a+)+$', patternProperties: { '(a+)+$': true } }
    const references = [
      '#/x-evil',
      '#/properties/choice/enum/0',
      '#/properties/choice%2Fenum%2F0',
      '#/properties',
      '#/required',
      '#/allOf',
      '#/%',
      '#anchor',
    ]
    const schema = made({
      'x-evil': evil,
      required: evil,
      definitions: { pattern: '(a+)+$', good: { type: 'string' }, patternProperties: evil, ...{ '~/': evil } },
      allOf: [{ contains: evil, additionalItems: evil, not: evil, if: evil, 'x-any': [evil] }],
      properties: {
        'choice/enum/0': {},
        choice: { enum: [evil, [evil]], const: evil, title: evil },
        tuple: { type: 'array', items: [evil, { items: evil }], additionalItems: evil },
        list: { oneOf: [{ type: 'array', contains: evil }, { $ref: '#/x-evil' }] },
        ...Object.fromEntries(references.map(($ref, index) => [`r${index}`, { $ref }])),
        good: { $ref: '#/definitions/good' },
        escaped: { $ref: '#/definitions/~0~1' },
        inside: { $ref: '#/properties/tuple/items/1' },
        root: { $ref: '#' },
      },
    })
    expect(JSON.stringify(schema)).not.toContain('(a+)+')
    const kept = [...JSON.stringify(schema).matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference)
    expect(kept).toEqual(['#/definitions/good', '#/definitions/~0~1', '#/properties/tuple/items/1', '#'])
  })

  it('shows what the defaults have and the schema leaves out', () => {
    const schema = made(
      { properties: { image: { type: 'object', properties: { tag: { type: 'string' } } } } },
      {
        image: { tag: '1', repository: 'x' },
        replicas: 1,
        big: 9007199254740993n,
        ratio: 0.5,
        on: true,
        hosts: ['a'],
        labels: {},
        unknown: null,
      },
    )
    const properties = schema.properties as Record<string, ValueObject>
    expect(properties.image?.properties).toEqual({ tag: { type: 'string' }, repository: { type: 'string' } })
    expect(properties).toMatchObject({
      replicas: { type: 'integer' },
      big: { type: 'integer' },
      ratio: { type: 'number' },
      on: { type: 'boolean' },
      hosts: { type: 'array', items: { type: 'string' } },
      labels: { type: 'object', additionalProperties: { [ANY_SCALAR]: true } },
      unknown: { [ANY_SCALAR]: true },
    })
  })

  it('adds nothing to a closed schema', () => {
    const schema = made({ properties: { a: { type: 'string' } }, additionalProperties: false }, { b: 1 })
    expect(Object.keys(schema.properties as ValueObject)).toEqual(['a'])
  })

  it('has one type for each field', () => {
    const schema = made({ properties: { a: { type: ['string', 'null'] }, b: { type: ['string', 'integer'] } } })
    expect(schema.properties).toEqual({ a: { type: 'string' }, b: { type: 'string', [ANY_SCALAR]: true } })
  })

  it('is refused where a form is of no use', () => {
    let deep: ValueObject = { type: 'string' }
    for (let level = 0; level < 100; level += 1) deep = { properties: { a: deep } }
    expect(formSchema(deep, {})).toHaveProperty('refused')
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, 1]))
    expect(formSchema(null, many)).toHaveProperty('refused')
    expect(formSchema(null, {})).toHaveProperty('refused')
  })
})

describe('a form that would take for ever', () => {
  const chain = (branches: (next: ValueObject) => ValueObject): ValueObject => ({
    properties: { a: { $ref: '#/definitions/d0' } },
    definitions: Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`d${index}`, branches({ $ref: `#/definitions/d${(index + 1) % 40}` })]),
    ),
  })
  const clique = Array.from({ length: 12 }, (_, index) => `d${index}`)
  let deep: ValueObject = {}
  for (let level = 0; level < 90; level += 1) deep = { a: deep }

  it.each<[string, ValueObject, ValueObject]>([
    ['allOf', chain((next) => ({ allOf: [next, next] })), {}],
    ['oneOf', chain((next) => ({ oneOf: [next, next] })), {}],
    ['properties', chain((next) => ({ properties: { a: next, b: next } })), {}],
    ['items', chain((next) => ({ items: [next, next] })), {}],
    [
      'items of lists',
      chain((next) => ({ properties: { a: { items: next }, b: { additionalProperties: next } } })),
      {},
    ],
    [
      'each refers to each',
      {
        $ref: '#/definitions/d0',
        definitions: Object.fromEntries(
          clique.map((name) => [
            name,
            { properties: Object.fromEntries(clique.map((to) => [to, { $ref: `#/definitions/${to}` }])) },
          ]),
        ),
      },
      {},
    ],
    ['a cycle that the values unfold', { properties: { a: { allOf: [{ $ref: '#' }, { $ref: '#' }] } } }, deep],
    [
      'many items',
      { properties: { a: { items: { type: 'string' } } } },
      { a: Array.from({ length: 20_000 }, () => 'x') },
    ],
  ])('is refused: %s', (_, schema, values) => {
    expect(isTooLarge(made(schema), values)).toBe(true)
  })

  it('is none of a schema that refers to itself, or to one definition often', () => {
    const tree = { properties: { a: { $ref: '#' }, list: { items: { $ref: '#' } }, name: { type: 'string' } } }
    expect(isTooLarge(made(tree), { a: { a: { list: [{ name: 'x' }, {}] } } })).toBe(false)
    const resources = { properties: { limits: { type: 'object' }, requests: { properties: { cpu: {}, memory: {} } } } }
    const names = Array.from({ length: 200 }, (_, index): [string, ValueObject] => [
      `c${index}`,
      { $ref: '#/definitions/resources' },
    ])
    const properties: ValueObject = Object.fromEntries(names)
    expect(isTooLarge(made({ properties, definitions: { resources } }), {})).toBe(false)
  })
})

describe('what a form reports', () => {
  it('has nothing that only the form has', () => {
    expect(
      valuesFromForm({ keep: {} }, { keep: {}, made: {}, none: undefined, deep: { a: { b: undefined } }, n: 0 }),
    ).toEqual({
      keep: {},
      n: 0,
    })
  })

  it('has no list that only the form has', () => {
    expect(valuesFromForm({}, { a: [], b: { c: [] } }, { a: ['x'] })).toEqual({})
    expect(valuesFromForm({ a: ['y'] }, { a: [] }, { a: ['x'] })).toEqual({ a: [] })
  })

  it('has the items below a new list, but none below one that was written', () => {
    const below = { a: ['x'], b: [{ c: ['z'] }] }
    expect(valuesFromForm({}, { a: [undefined], b: [{ c: ['y'] }] }, below)).toEqual({
      a: ['x', ''],
      b: [{ c: ['z'] }, { c: ['y'] }],
    })
    expect(valuesFromForm({ a: [] }, { a: ['y'] }, below)).toEqual({ a: ['y'] })
  })

  it('has an entry for each item of a list', () => {
    expect(valuesFromForm({ a: ['x'] }, { a: ['x', undefined] })).toEqual({ a: ['x', ''] })
    expect(valuesFromForm({ a: [1] }, { a: [1, undefined] })).toEqual({ a: [1, null] })
  })
})

describe('a field', () => {
  it.each([
    ['', 'integer', undefined],
    ['12', 'integer', 12],
    ['9007199254740993', 'integer', 9007199254740993n],
    ['1.5', 'integer', null],
    ['1.5', 'number', 1.5],
    ['x', 'number', null],
    ['on', 'string', 'on'],
    ['on', 'any', true],
    ['1', 'any', 1],
    ['a: b', 'any', 'a: b'],
    ['[', 'any', '['],
  ] as const)('%j of kind %s', (text, kind, value) => {
    expect(readScalar(text, kind)).toEqual(value)
  })

  it('shows big numbers digit by digit', () => {
    expect(scalarText(9007199254740993n)).toBe('9007199254740993')
    expect(scalarText(undefined)).toBe('')
    expect(scalarText({ a: 1n })).toBe('{"a":"1"}')
  })
})
