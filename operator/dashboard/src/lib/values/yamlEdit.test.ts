// @vitest-environment node
import { describe, expect, it } from 'vitest'
import { editsBetween } from './changes'
import type { Path, Value } from './value'
import { parseYaml } from './yamlDocument'
import { applyEdit, applyEdits, withoutValue, withValue } from './yamlEdit'

const TEXT = `# of the site
image:
  repository: registry/app   # do not change
  tag: "1.0"

replicas: 1 # one is enough
hosts:
  - name: a   # first
    port: 80
  - name: b
# the last one
big: 9007199254740993
script: |
  one
  two
flow: {a: 1, b: [x, y]}
`

function set(text: string, path: Path, value: Value): string | null {
  return applyEdit(text, { kind: 'set', path, value })
}

function remove(text: string, path: Path): string | null {
  return applyEdit(text, { kind: 'remove', path })
}

describe('a change of one value', () => {
  const cases: [string, Path, Value, string, string][] = [
    ['a number', ['replicas'], 2, 'replicas: 1 # one', 'replicas: 2 # one'],
    ['a quoted text', ['image', 'tag'], '1.1', 'tag: "1.0"', 'tag: "1.1"'],
    ['a plain text', ['image', 'repository'], 'x/y', 'registry/app   #', 'x/y   #'],
    ['a text that YAML would read as something else', ['image', 'repository'], 'on', 'registry/app', '"on"'],
    ['a 64-bit integer', ['big'], 9223372036854775807n, '9007199254740993', '9223372036854775807'],
    ['an item of a list', ['hosts', 0, 'port'], 81, 'port: 80', 'port: 81'],
    ['a value inside of braces', ['flow', 'a'], 5, '{a: 1,', '{a: 5,'],
    ['a text with a comma inside of brackets', ['flow', 'b', 1], 'p,q', 'y]', '"p,q"]'],
    ['a new key', ['image', 'pullPolicy'], 'Always', '"1.0"\n', '"1.0"\n  pullPolicy: Always\n'],
    ['a new object', ['image', 'extra', 'deep'], true, '"1.0"\n', '"1.0"\n  extra:\n    deep: true\n'],
    ['a new key of an item', ['hosts', 1, 'port'], 8, 'name: b\n', 'name: b\n    port: 8\n'],
    ['a new item', ['hosts', 2], { name: 'c', port: 1 }, 'name: b\n', 'name: b\n  - name: c\n    port: 1\n'],
    ['a new key at the end', ['end'], [1], 'y]}\n', 'y]}\nend:\n  - 1\n'],
    ['a new key inside of braces', ['flow', 'c'], 'z', 'y]}', 'y], c: z}'],
    ['a text of lines', ['script'], 'one\nthree\n', '  two\n', '  three\n'],
    ['an object in place of a number', ['replicas'], { a: 1 }, 'replicas: 1 # one', 'replicas:\n  a: 1 # one'],
  ]
  it.each(cases)('keeps all else as it is: %s', (_, path, value, before, after) => {
    expect(set(TEXT, path, value)).toBe(TEXT.replace(before, () => after))
  })

  it('changes nothing when the value is the same', () => {
    expect(set(TEXT, ['replicas'], 1)).toBe(TEXT)
  })

  it.each([
    ['', 'a:\n  b: 1\n'],
    ['# only this', '# only this\na:\n  b: 1\n'],
    ['{}\n', 'a:\n  b: 1\n'],
    ['a:\n', 'a:\n  b: 1\n'],
    ['a: # why\n', 'a:\n  b: 1 # why\n'],
    ['a: {}\n', 'a:\n  b: 1\n'],
  ])('writes an object into %j', (text, expected) => {
    expect(set(text, ['a', 'b'], 1)).toBe(expected)
  })

  it('leaves a text with a syntax error alone', () => {
    expect(set('a: [1\n', ['b'], 1)).toBeNull()
  })

  it('keeps an anchor that others refer to', () => {
    const result = set('a: &x 1\nb: *x\n', ['b'], 2)
    expect(parseYaml(result ?? '').values).toEqual({ a: 1, b: 2 })
  })
})

describe('a removal', () => {
  const cases: [string, Path, string, string][] = [
    ['a key', ['replicas'], 'replicas: 1 # one is enough\n', ''],
    ['a key of an object', ['image', 'tag'], '  tag: "1.0"\n', ''],
    ['the first key of an item', ['hosts', 0, 'name'], 'name: a   # first\n    port', 'port'],
    ['an item', ['hosts', 0], '  - name: a   # first\n    port: 80\n', ''],
    ['a key inside of braces', ['flow', 'a'], '{a: 1, b', '{b'],
    ['the last key inside of braces', ['flow', 'b'], ', b: [x, y]', ''],
    ['a text of lines', ['script'], 'script: |\n  one\n  two\n', ''],
  ]
  it.each(cases)('keeps all else as it is: %s', (_, path, before, after) => {
    expect(remove(TEXT, path)).toBe(TEXT.replace(before, after))
  })

  it('takes an object along that it leaves empty', () => {
    expect(remove('a:\n  b:\n    c: 1\nd: 2\n', ['a', 'b', 'c'])).toBe('d: 2\n')
  })

  it('keeps the comments of a text that loses its last key', () => {
    expect(remove('# mine\na: 1\n', ['a'])).toBe('# mine\n')
  })

  it('leaves an empty list behind, because helm would otherwise take the list of the chart', () => {
    expect(parseYaml(remove('a:\n  - 1\n', ['a', 0]) ?? '').values).toEqual({ a: [] })
  })
})

/** A generator of its own, so that the same cases run each time. */
function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const KEYS: readonly string[] = ['a', 'image', 'on', '8080', 'x.y', 'with space', '"q"', '__proto__', '#c', 'a: b']
const SCALARS: Value[] = [
  0,
  -1,
  1.5,
  9007199254740993n,
  'text',
  '',
  'yes',
  '1e3',
  'a: b',
  '- x',
  '# no',
  'one\ntwo\n',
  'tab\there',
  ' lead',
  true,
  null,
  '{}',
  'ä, [x]',
  '~',
]

function oneOf<T>(items: readonly T[], pick: (below: number) => number): T {
  const item = items[pick(items.length)]
  if (item === undefined) throw new Error('nothing to pick')
  return item
}

function anyValue(pick: (below: number) => number, depth: number): Value {
  const kind = pick(depth > 2 ? 1 : 4)
  if (kind === 2) return Array.from({ length: pick(3) }, () => anyValue(pick, depth + 1))
  if (kind === 3) {
    return Object.fromEntries(Array.from({ length: pick(3) + 1 }, () => [oneOf(KEYS, pick), anyValue(pick, depth + 1)]))
  }
  return oneOf(SCALARS, pick)
}

describe('any edit of any values', () => {
  it('means what it says, and keeps the comments', () => {
    for (let seed = 1; seed <= 120; seed += 1) {
      const pick = random(seed)
      let text = pick(2) ? TEXT : '# mine\na: 1\n'
      for (let step = 0; step < 6; step += 1) {
        const before = parseYaml(text).values
        const path: Path = pick(2) ? [oneOf(KEYS, pick)] : ['image', oneOf(KEYS, pick)]
        const value = anyValue(pick, 0)
        const removing = pick(4) === 0
        const result = applyEdit(text, removing ? { kind: 'remove', path } : { kind: 'set', path, value })
        expect(result, `seed ${String(seed)}: ${text}`).not.toBeNull()
        const expected = removing ? withoutValue(before, path) : withValue(before, path, value)
        expect(parseYaml(result ?? '').values, `seed ${String(seed)}`).toEqual(expected)
        expect(result).toContain(text.includes('# of the site') ? '# of the site' : '# mine')
        text = result ?? ''
      }
    }
  })
})

describe('edits between two states of a form', () => {
  it('touch only what changed', () => {
    const before = parseYaml(TEXT).values
    const after = withValue(withoutValue(before, ['hosts', 0]), ['image', 'tag'], '2')
    const edits = editsBetween(before, after)
    expect(edits).toEqual([
      { kind: 'set', path: ['image', 'tag'], value: '2' },
      { kind: 'remove', path: ['hosts', 0] },
    ])
    const text = applyEdits(TEXT, edits) ?? ''
    expect(text).toContain('# do not change')
    expect(text).toContain('tag: "2"')
    expect(text).not.toContain('name: a')
    expect(text).toContain('# the last one')
  })
})
