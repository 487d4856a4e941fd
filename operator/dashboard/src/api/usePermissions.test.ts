// @vitest-environment jsdom

import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { allowPathsInRequests } from './testRequests'
import { permissionsQuery } from './usePermissions'

const answers: boolean[] = []

beforeEach(() => {
  vi.useFakeTimers()
  allowPathsInRequests()
  vi.stubGlobal('fetch', () => {
    const allowed = answers.shift()
    return Promise.resolve(Response.json({ rights: [{ action: 'uninstall', allowed, missing: [] }] }))
  })
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

it('asks again for rights that are missing, until there are none', async () => {
  answers.push(false, true, true)
  const stop = new QueryObserver(new QueryClient(), permissionsQuery('ric-xapps')).subscribe(() => undefined)
  await vi.advanceTimersByTimeAsync(29_000)
  expect(answers).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(answers).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(120_000)
  expect(answers).toHaveLength(1)
  stop()
})
