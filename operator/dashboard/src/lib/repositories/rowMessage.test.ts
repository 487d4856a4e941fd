import { expect, it } from 'vitest'

import { rowMessage } from '~/lib/repositories/rowMessage'

it.each([
  [
    "http://127.0.0.1:1/charts/index.yaml is not available: no connection (connect call failed ('127.0.0.1', 1)).",
    "Not available: no connection (connect call failed ('127.0.0.1', 1)).",
  ],
  ['oci://registry.example/charts answered 401 Unauthorized.', 'Answered 401 Unauthorized.'],
  [
    'the index.yaml of the repository is refused: no entries',
    'The index.yaml of the repository is refused: no entries',
  ],
])('%s', (message, shown) => {
  expect(rowMessage(message)).toBe(shown)
})
