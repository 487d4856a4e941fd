import { expect, it } from 'vitest'

import { backoffMilliseconds } from '~/lib/backoff'

const MIDDLE = (): number => 0.5

it('doubles up to 30 seconds', () => {
  expect([0, 1, 2, 3, 4, 5, 6, 1000].map((attempt) => backoffMilliseconds(attempt, null, MIDDLE))).toEqual([
    1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000,
  ])
})

it('varies by a fifth, so that not all pages come at once', () => {
  expect(backoffMilliseconds(2, null, () => 0)).toBe(3200)
  expect(backoffMilliseconds(2, null, () => 1)).toBe(4800)
})

it('waits as long as the gateway asks', () => {
  expect(backoffMilliseconds(0, 10, MIDDLE)).toBe(10_000)
  expect(backoffMilliseconds(5, 10, MIDDLE)).toBe(30_000)
})
