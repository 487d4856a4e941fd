// @vitest-environment node
import { expect, it } from 'vitest'

import { notFoundHere, type MarkedProblem } from './checkValues'

function problem(path: string | null, line: number, severity: MarkedProblem['severity'] = 'error'): MarkedProblem {
  return { path, line, severity, column: 1, from: 0, to: 0, message: `${path ?? 'text'} is wrong` }
}

it('what the gateway refuses is listed once, also if the page finds it too', () => {
  const found = [problem('replicas', 2), problem(null, 4, 'warning')]
  const refused = [problem('replicas', 2), problem('image.tag', 4), problem('', 1)]
  expect(notFoundHere(refused, found).map(({ path }) => path)).toEqual(['image.tag', ''])
  // A text that cannot be read: both name its line.
  expect(notFoundHere([problem('', 3), problem('', 5)], [problem(null, 3)])).toEqual([problem('', 5)])
})
