import { expect, it } from 'vitest'

import { safeHref } from '~/ui/Link'

it.each(['http://10.0.0.5:30080', 'https://xapp.example/a?b=c'])('links to %s', (url) => {
  expect(safeHref(url)).toBe(url)
})

it.each([
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  ' javascript:alert(1)',
  'data:text/html,x',
  'ftp://x',
  '/xapps',
  '',
])('does not link to %j', (url) => {
  expect(safeHref(url)).toBeNull()
})
