import { afterEach, expect, it, vi } from 'vitest'

import { oneAfterTheOther } from '~/lib/oneAfterTheOther'

afterEach(() => vi.useRealTimers())

it('runs once more after calls that came meanwhile, and not more often', async () => {
  const ends: (() => void)[] = []
  const call = oneAfterTheOther(() => new Promise<void>((resolve) => ends.push(resolve)))
  const settle = () => new Promise((resolve) => setTimeout(resolve))
  call()
  call()
  call()
  await settle()
  expect(ends).toHaveLength(1)
  ends[0]?.()
  await settle()
  expect(ends).toHaveLength(2)
  ends[1]?.()
  await settle()
  expect(ends).toHaveLength(2)
  call()
  await settle()
  expect(ends).toHaveLength(3)
})

it('goes on after a failure', async () => {
  let runs = 0
  const call = oneAfterTheOther(() => {
    runs += 1
    return Promise.reject(new Error('no'))
  })
  call()
  await new Promise((resolve) => setTimeout(resolve))
  call()
  await new Promise((resolve) => setTimeout(resolve))
  expect(runs).toBe(2)
})

it('rests after a run, and forgets no call that came meanwhile', async () => {
  vi.useFakeTimers()
  let runs = 0
  const call = oneAfterTheOther(() => {
    runs += 1
    return Promise.resolve()
  }, 1000)
  call()
  for (let calls = 0; calls < 9; calls += 1) {
    await vi.advanceTimersByTimeAsync(100)
    call()
  }
  expect(runs).toBe(1)
  await vi.advanceTimersByTimeAsync(100)
  expect(runs).toBe(2)
  await vi.advanceTimersByTimeAsync(5000)
  expect(runs).toBe(2)
})
