import { expect, it } from 'vitest'

import { safeNext } from '~/app/safeNext'

const ORIGIN = 'http://127.0.0.1:31315'

it.each(['/xapps?phase=Failed', '/xapps/ric/acme-ran-hello/logs?find=a%20b', '/deploy', '/services', '/about'])(
  'goes to %s',
  (next) => {
    expect(safeNext(next, ORIGIN)).toBe(next)
  },
)

it.each([
  '',
  '/',
  '//evil.example/xapps',
  '/\\evil.example/xapps',
  'https://evil.example/xapps',
  'javascript:alert(1)',
  '/api/session',
  '/api/docs',
  '/signin?next=/signin',
  '/xapps/../api/docs',
  '/assets/x.js',
  'xapps',
  '/ xapps',
])('drops %s', (next) => {
  expect(safeNext(next, ORIGIN)).toBe('/xapps')
})
