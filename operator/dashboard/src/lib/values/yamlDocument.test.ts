// @vitest-environment node
import { describe, expect, it } from 'vitest'

import { GROWTH_MAX, growthOfWork } from '~/lib/testGrowth'
import { parsePathText, pathOfPointer, pathText, resolvePath, type Path, type Value } from './value'
import { entriesOf, parseYaml, roundedIntegers } from './yamlDocument'
import { applyEdit } from './yamlEdit'

describe('what a text means to helm', () => {
  const cases: [string, Value][] = [
    ['22:22', '22:22'],
    ['2020-01-01', '2020-01-01'],
    ['1e3', 1000],
    ['0o10', 8],
    ['010', 8],
    ['0x1F', 31],
    ['0b101', 5],
    ['-0x10', -16],
    ['089', 89],
    ['1_000', 1000],
    ['1e400', '1e400'],
    ['9'.repeat(400), '9'.repeat(400)],
    ['on', true],
    ['y', true],
    ['No', false],
    ['~', null],
    ['', null],
    ['"on"', 'on'],
    ['.5', 0.5],
    ['1.', 1],
    ['1.10', 1.1],
    ['+12', 12],
    ['.', '.'],
    ['1.2.3', '1.2.3'],
    ['0.2.1', '0.2.1'],
    ['v1', 'v1'],
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9223372036854775807', 9223372036854775807n],
  ]
  it.each(cases)('%j', (text, value) => {
    expect(parseYaml(`a: ${text}\n`).values).toEqual({ a: value })
  })

  it('reads keys as texts', () => {
    expect(parseYaml('8080: x\non: y\n"on2": z').values).toEqual({ '8080': 'x', true: true, on2: 'z' })
  })

  it('merges what << names', () => {
    expect(parseYaml('base: &b {x: 1, z: 2}\nc:\n  <<: *b\n  z: 3\n').values).toEqual({
      base: { x: 1, z: 2 },
      c: { x: 1, z: 3 },
    })
  })

  it('does not set the prototype of anything', () => {
    const { values } = parseYaml('__proto__: {polluted: 1}\n')
    expect(Object.hasOwn(values, '__proto__')).toBe(true)
    expect((values as { polluted?: number }).polluted).toBeUndefined()
  })
})

describe('what is wrong with a text', () => {
  it.each([
    ['a: 1\na: 2\n', 2, 'This key is there twice. Give it once.'],
    ['a: 1\n---\nb: 2\n', 2, 'A second document begins. Put all values into one document.'],
    ['- a\n', 1, 'Values must be an object, lines of `key: value`.'],
  ])('%j', (text, line, message) => {
    expect(parseYaml(text).problems[0]).toMatchObject({ line, message })
  })

  it('names the line of a syntax error', () => {
    const [problem] = parseYaml('a: 1\nb: [1, 2\nc: 3\n').problems
    expect(problem?.line).toBeGreaterThanOrEqual(2)
  })

  it('does not expand aliases without end', () => {
    const lines = ['a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]']
    for (let level = 1; level < 9; level += 1) {
      const below = `*a${String(level - 1)}`
      lines.push(`a${String(level)}: &a${String(level)} [${Array.from({ length: 10 }, () => below).join(', ')}]`)
    }
    expect(parseYaml(lines.join('\n')).problems[0]?.message).toContain('more than 100000 entries')
  })
})

describe('a hostile text', () => {
  const times = (what: string): string => Array.from({ length: 9 }, () => what).join(', ')
  const merges = ['m0: &m0 {a: 1, b: 2}']
  for (let level = 1; level < 30; level += 1) merges.push(`m${level}: &m${level}\n  <<: [${times(`*m${level - 1}`)}]`)
  const chain = ['m0: &m0 {a: 1}']
  for (let level = 1; level < 3_000; level += 1) chain.push(`m${level}: &m${level} {<<: *m${level - 1}}`)

  it.each([
    ['a merge key of itself', 'b: 1\na: &a\n  <<: *a\n', 3, '`*a` stands inside of what it names'],
    ['a list of merge keys of itself', 'b: 1\na:\n  <<: &s [*s]\n', 3, '`*s` stands inside of what it names'],
    ['an alias of itself', 'a: &a\n  - 1\n  - *a\n', 3, '`*a` stands inside of what it names'],
    ['merge keys of merge keys', merges.join('\n'), null, 'Merge keys unfold to more than 100000 values.'],
    ['a long chain of merge keys', chain.join('\n'), null, 'nested more than 100 levels'],
    ['aliases of a long text', `a: &a "${'x'.repeat(10_000)}"\nb: [${'*a, '.repeat(10_000)}]\n`, 2, 'Aliases unfold'],
    ['an alias of nothing', 'a: 1\nb: *c\n', 2, 'No anchor `&c` stands before this.'],
    ['lists in lists', `a:\n  ${'['.repeat(2_000)}${']'.repeat(2_000)}\n`, 2, 'nested more than 100 levels'],
    ['many lists in lists', `a: ${'['.repeat(20_000)}\n`, 1, 'nested'],
    ['many lists in lists of lines', `a:\n  ${'- '.repeat(20_000)}\n`, null, 'nested'],
  ])('%s', (_, text, line, message) => {
    const parsed = parseYaml(text)
    expect(parsed.problems.map((problem) => problem.message).join()).toContain(message)
    if (line !== null) expect(parsed.problems[0]?.line).toBe(line)
    expect(entriesOf(parsed).length).toBeLessThan(100_000)
    expect(applyEdit(text, { kind: 'set', path: ['z'], value: 1 })).toBeNull()
  })

  it('takes work that grows with its length, and not with its square', () => {
    const keys = (count: number): string =>
      [...Array.from({ length: count }, (_, index) => `k${index}: 1`), 'k7: 1'].join('\n')
    const parsed = parseYaml(keys(2_500))
    expect(Object.keys(parsed.values)).toHaveLength(2_500)
    expect(parsed.problems).toMatchObject([{ line: 2_501, message: 'This key is there twice. Give it once.' }])
    const aliases = (count: number): string => `a: &a 1\nb:\n${'  - *a\n'.repeat(count)}`
    expect(parseYaml(aliases(2_500)).values.b).toHaveLength(2_500)
    expect(growthOfWork(keys, 2_500, parseYaml)).toBeLessThan(GROWTH_MAX)
    expect(growthOfWork(aliases, 2_500, parseYaml)).toBeLessThan(GROWTH_MAX)
  })
})

it('names whole numbers that helm rounds', () => {
  const problems = roundedIntegers(parseYaml('a: 9007199254740993\nb: 9007199254740992\nc: "9007199254740993"\n'))
  expect(problems).toHaveLength(1)
  expect(problems[0]).toMatchObject({ line: 1, column: 4 })
  expect(problems[0]?.message).toContain('9007199254740992')
})

describe('paths', () => {
  const paths: [Path, string][] = [
    [['image', 'tag'], 'image.tag'],
    [['hosts', 0, 'name'], 'hosts[0].name'],
    [['annotations', 'a.b/c'], 'annotations["a.b/c"]'],
    [['a"b'], '["a\\"b"]'],
  ]
  it.each(paths)('%j', (path, text) => {
    expect(pathText(path)).toBe(text)
    expect(parsePathText(text)).toEqual(path)
  })

  it('come from JSON pointers', () => {
    const values: Value = { hosts: [{ 'a/b': 1 }], '0': { x: 1 } }
    expect(resolvePath(values, pathOfPointer('#/hosts/0/a~1b'))).toEqual(['hosts', 0, 'a/b'])
    expect(resolvePath(values, pathOfPointer('#/0/x'))).toEqual(['0', 'x'])
  })
})
