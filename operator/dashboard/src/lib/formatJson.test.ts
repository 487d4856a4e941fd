import { describe, expect, it } from 'vitest'

import { formatJson, jsonProblem } from '~/lib/formatJson'

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
