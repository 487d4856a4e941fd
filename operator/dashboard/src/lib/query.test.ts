import { expect, it } from 'vitest'

import { apiPath, queryText } from '~/lib/query'

it('leaves out what is not set, and repeats lists', () => {
  expect(queryText({ a: 1, b: null, c: undefined, d: '', e: ['x y', '&'], f: false })).toBe('?a=1&e=x+y&e=%26&f=false')
  expect(queryText({})).toBe('')
})

it('encodes each segment of a path', () => {
  expect(apiPath('api', 'xapps', 'a/b', '../x?')).toBe('/api/xapps/a%2Fb/..%2Fx%3F')
})
