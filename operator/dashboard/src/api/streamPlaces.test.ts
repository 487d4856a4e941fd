import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { takePlace } from '~/api/streamPlaces'

let giveBacks: (() => void)[] = []

beforeEach(() => {
  giveBacks = []
})

afterEach(() => {
  giveBacks.forEach((giveBack) => giveBack())
  vi.unstubAllGlobals()
})

/** Asks for a place, and returns what was answered so far. */
function ask(): string[] {
  const answers: string[] = []
  giveBacks.push(takePlace({ onPlace: () => answers.push('place'), onCrowded: () => answers.push('crowded') }))
  return answers
}

it('has four places, and a fifth asker gets the first one that is given back', async () => {
  const answers = [ask(), ask(), ask(), ask(), ask(), ask()]
  await vi.waitFor(() =>
    expect(answers).toEqual([['place'], ['place'], ['place'], ['place'], ['crowded'], ['crowded']]),
  )
  giveBacks[2]?.()
  await vi.waitFor(() => expect(answers[4]).toEqual(['crowded', 'place']))
  // One place was given back, and one asker has it.
  const held = (await navigator.locks.query()).held
  expect(held).toHaveLength(4)
  expect(answers[5]).toEqual(['crowded'])
})

it('waits no more once that is not wanted', async () => {
  const answers = [ask(), ask(), ask(), ask(), ask()]
  await vi.waitFor(() => expect(answers[4]).toEqual(['crowded']))
  giveBacks.forEach((giveBack) => giveBack())
  await vi.waitFor(async () => expect(await navigator.locks.query()).toEqual({ held: [], pending: [] }))
  expect(answers[4]).toEqual(['crowded'])
})

it('has a place for everybody where the browser has no locks', () => {
  vi.stubGlobal('navigator', {})
  expect([1, 2, 3, 4, 5].map(() => ask())).toEqual(Array(5).fill(['place']))
})
