import { expect, it } from 'vitest'

import { inBatches } from '~/lib/inBatches'

it('works on so many at a time, and reports one result for each', async () => {
  const items = Array.from({ length: 20 }, (_, index) => index)
  let running = 0
  let most = 0
  const results = new Map<number, unknown>()
  await inBatches(
    items,
    6,
    async (item) => {
      running += 1
      most = Math.max(most, running)
      await Promise.resolve()
      running -= 1
      if (item === 7) throw new Error('refused')
    },
    (item, error) => results.set(item, error),
  )
  expect(most).toBe(6)
  expect([...results.keys()].sort((one, other) => one - other)).toEqual(items)
  expect([...results].filter(([, error]) => error !== null)).toEqual([[7, new Error('refused')]])
})
