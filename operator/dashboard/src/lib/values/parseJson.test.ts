// @vitest-environment node
import { expect, it } from 'vitest'

import { parseJson } from './parseJson'

it('keeps every digit of whole numbers', () => {
  expect(
    parseJson('{"a": 9007199254740993, "b": [-9223372036854775808, 1.5, 1e30, 7], "c": "9007199254740993"}'),
  ).toEqual({
    a: 9007199254740993n,
    b: [-9223372036854775808n, 1.5, 1e30, 7],
    c: '9007199254740993',
  })
})
