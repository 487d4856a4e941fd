// @vitest-environment node
import { describe, expect, it } from 'vitest'

import { valuesProblems } from './fieldLine'
import { layersFromTexts, lineOrigins, originOf } from './origins'
import { unknownKeys, type ChartKeys } from './unknownKeys'
import { parseYaml } from './yamlDocument'

const CHART: ChartKeys = {
  defaults: {
    image: { repository: 'x', tag: '1' },
    replicas: 1,
    annotations: {},
    hosts: [{ name: 'a' }],
    kpi: { a: 1 },
  },
  schema: null,
  dependencies: ['redis', 'kpi'],
}

function unknown(text: string, chart: ChartKeys = CHART): [number, string][] {
  return unknownKeys(parseYaml(text), chart).map(({ line, message }) => [line, message])
}

describe('keys that the chart does not have', () => {
  it('get the nearest key as a suggestion', () => {
    expect(unknown('# x\nreplicas: 2\nimage:\n  tagg: 1\n')).toEqual([
      [4, 'image.tagg is no value of this chart: image.tag?'],
    ])
    expect(unknown('replicsa: 2\n')).toEqual([[1, 'replicsa is no value of this chart: replicas?']])
    expect(unknown('Image: {}\n')).toEqual([[1, 'Image is no value of this chart: image?']])
  })

  it('are named without one when none is near', () => {
    expect(unknown('somethingElse:\n  deep: 1\n')).toEqual([[1, 'somethingElse is no value of this chart']])
  })

  it.each([
    'global: {x: 1}',
    'redis: {x: 1}',
    'tags: {a: true}',
    'annotations: {x: 1}',
    'hosts: [{nmae: 1}]',
    'kpi: {b: 1}',
  ])('are not those that may be there: %s', (text) => {
    expect(unknown(text)).toEqual([])
  })

  it('are not those that only the schema knows', () => {
    const schema = { properties: { extra: { properties: { a: {} } }, image: { additionalProperties: true } } }
    expect(unknown('extra: {a: 1}\nimage: {x: 1}\n', { ...CHART, schema })).toEqual([])
    expect(unknown('extra: {b: 1}\n', { ...CHART, schema })).toEqual([[1, 'extra.b is no value of this chart']])
  })

  it('are unknown to nobody where the chart tells nothing', () => {
    expect(unknown('a: 1\n', { defaults: {}, schema: null, dependencies: [] })).toEqual([])
  })
})

describe('the origin of a value', () => {
  const layers = layersFromTexts([
    { from: 'chart', text: 'image: {repository: x, tag: "1"}\nhosts: [a, b]\nreplicas: 1\n' },
    { from: 'address', text: 'global: {kubeIp: 10.0.0.1}\n' },
    { from: 'Secret/s', text: null },
    { from: 'yours', text: 'image: {tag: "2"}\nhosts: [c]\n' },
  ])

  it('is the last layer that sets it', () => {
    expect(originOf(layers, ['image', 'repository'])).toBe('chart')
    expect(originOf(layers, ['image', 'tag'])).toBe('yours')
    expect(originOf(layers, ['hosts', 0])).toBe('yours')
    expect(originOf(layers, ['global', 'kubeIp'])).toBe('address')
    expect(originOf(layers, ['nowhere'])).toBeNull()
  })

  it('is told for each line of the result', () => {
    const result = 'image:\n  repository: x\n  tag: "2"\nhosts:\n  - c\nreplicas: 1\n'
    expect(lineOrigins(result, layers).map(({ line, from }) => [line, from])).toEqual([
      [2, 'chart'],
      [3, 'yours'],
      [4, 'yours'],
      [5, 'yours'],
      [6, 'chart'],
    ])
  })
})

describe('errors of the API about values', () => {
  const text = '# mine\nimage:\n  tag: 1\nhosts:\n  - name: a\n'

  it('stand at the line that the answer names', () => {
    expect(valuesProblems(text, [{ field: 'values', message: 'no', line: 3, column: 8 }])).toEqual([
      { line: 3, column: 8, from: 21, to: 22, message: 'no' },
    ])
  })

  it('stand at their value, or its nearest parent', () => {
    const problems = valuesProblems(text, [
      { field: 'values.image.tag', message: 'must be text' },
      { field: 'values.image.missing', message: 'is missing' },
      { field: 'values.hosts[0].name', message: 'x' },
      { field: 'xAppForm.owner', message: 'not here' },
    ])
    expect(problems.map(({ line, message }) => [line, message])).toEqual([
      [3, 'image.tag must be text'],
      [2, 'image.missing is missing'],
      [5, 'hosts[0].name x'],
    ])
    expect(text.slice(problems[0]?.from, problems[0]?.to)).toBe('1')
  })
})
