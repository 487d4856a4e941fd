import { expect, it } from 'vitest'

import { apiPath, isPathSegment, queryText } from '~/lib/query'

it('leaves out what is not set, and repeats lists', () => {
  expect(queryText({ a: 1, b: null, c: undefined, d: '', e: ['x y', '&'], f: false })).toBe('?a=1&e=x+y&e=%26&f=false')
  expect(queryText({})).toBe('')
})

it('encodes each segment of a path', () => {
  expect(apiPath('api', 'xapps', 'a/b', '../x?')).toBe('/api/xapps/a%2Fb/..%2Fx%3F')
})

it('knows names that cannot be a segment of a path', () => {
  for (const name of ['', '.', '..', 'a/b', '..\\x']) expect(isPathSegment(name)).toBe(false)
  for (const name of ['hello', 'a b', '..a', '%2e%2e', '<b>?#']) expect(isPathSegment(name)).toBe(true)
})
