import { describe, expect, it } from 'vitest'

import { formatJson, jsonProblem, shownJson } from '~/lib/formatJson'

describe('indented JSON', () => {
  it('has one member a line and keeps the digits of numbers', () => {
    expect(formatJson('{"a":9007199254740993,"b":[1,2.50],"c":{},"d":[ ]}')).toBe(
      '{\n  "a": 9007199254740993,\n  "b": [\n    1,\n    2.50\n  ],\n  "c": {},\n  "d": []\n}',
    )
  })

  it('leaves texts as they are', () => {
    expect(formatJson('{"a":"{ \\"x\\": [1, 2] }\\\\"}')).toBe('{\n  "a": "{ \\"x\\": [1, 2] }\\\\"\n}')
  })

  it('means the same as before', () => {
    const text = '{"a":[{"b":null},[],[[true,false]],"\\u202e\\n"],"":{"x":-1e-7}}'
    expect(JSON.parse(formatJson(text))).toEqual(JSON.parse(text))
  })

  it('is the text itself if that is no JSON', () => {
    expect(formatJson('a: 1')).toBe('a: 1')
    expect(jsonProblem('a: 1')).not.toBeNull()
    expect(jsonProblem('{}')).toBeNull()
  })
})

describe('JSON whose indents would be larger than memory', () => {
  const nested = (depth: number, inner = ''): string => '['.repeat(depth) + inner + ']'.repeat(depth)

  it.each([
    ['deep', nested(10_000)],
    ['deep and long', nested(20_000, '1')],
    ['wide at a depth', nested(99, Array.from({ length: 200_000 }, () => '1').join(','))],
  ])('stays as it came: %s', (_, text) => {
    expect(formatJson(text) === text).toBe(true)
  })

  it('is indented up to a depth of 100', () => {
    expect(formatJson(nested(100, '1'))).toContain('\n')
  })

  it('is shown as text, cut if it is long', () => {
    expect(shownJson({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}')
    expect(shownJson(JSON.parse(nested(2_000)))).toBe(nested(2_000))
    expect(shownJson('x'.repeat(100_000))).toMatch(/x\n… the rest is left out$/)
    let deep: unknown[] = []
    for (let depth = 0; depth < 1_000_000; depth += 1) deep = [deep]
    expect(shownJson(deep)).toBe('It is nested too deeply to be shown.')
  })
})
