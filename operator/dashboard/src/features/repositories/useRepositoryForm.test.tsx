import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { act, renderHook } from '@testing-library/react'
import type { ReactNode } from 'react'
import { beforeEach, expect, test, vi } from 'vitest'

import { drafts } from '~/lib/drafts'
import type { ObjectVersion } from '~/lib/ifMatch'
import { NO_REPOSITORY } from '~/lib/repositories/form'

import { useRepositoryForm } from './useRepositoryForm'

const BASE = { ...NO_REPOSITORY, name: 'acme', namespace: 'ric', url: 'https://charts.example.com', interval: '1h' }
const THEIRS = { ...BASE, url: 'https://charts.example.com/theirs' }
const FIRST = { uid: 'a', generation: 1 }
const SECOND = { uid: 'a', generation: 2 }
const REPLACED = { uid: 'b', generation: 1 }

beforeEach(() => drafts.set(new Map()))

function wrapper({ children }: { children: ReactNode }) {
  return <QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>
}

function render() {
  const save = vi.fn(() => new Promise<never>(() => undefined))
  const rendered = renderHook(
    ({ initial, version }: { initial: typeof BASE; version: ObjectVersion }) =>
      useRepositoryForm({ draftKey: 'k', initial, version, check: vi.fn(), save, onSaved: vi.fn() }),
    { wrapper, initialProps: { initial: BASE, version: FIRST } },
  )
  const form = () => rendered.result.current
  return { ...rendered, form, save, type: (interval: string) => act(() => form().change({ interval })) }
}

test('a change by somebody else is a conflict with what is typed, which stays', () => {
  const { form, rerender, type } = render()
  type('2h')
  expect(form().isConflict).toBe(false)
  rerender({ initial: THEIRS, version: SECOND })
  expect([form().isConflict, form().isReplaced]).toEqual([true, false])
  expect([form().fields.interval, form().fields.url, form().base]).toEqual(['2h', BASE.url, BASE])
})

test('a repository of the same name is a conflict also in the same generation', () => {
  const { form, rerender, type } = render()
  type('2h')
  rerender({ initial: BASE, version: REPLACED })
  expect([form().isConflict, form().isReplaced]).toEqual([true, true])
})

test('who keeps theirs or mine writes the version as it is now', async () => {
  const { form, rerender, save, type } = render()
  type('2h')
  rerender({ initial: THEIRS, version: SECOND })
  act(() => form().keepMine())
  expect(form().isConflict).toBe(false)
  act(() => form().runSave())
  await vi.waitFor(() => expect(save).toHaveBeenCalledWith({ ...BASE, interval: '2h' }, SECOND))
  act(() => form().discarding.discard())
  expect([form().fields, form().isDirty]).toEqual([THEIRS, false])
})

test('what is sent is for the version that was edited', async () => {
  const { form, rerender, save, type } = render()
  type('2h')
  rerender({ initial: THEIRS, version: SECOND })
  act(() => form().runSave())
  await vi.waitFor(() => expect(save).toHaveBeenCalledWith({ ...BASE, interval: '2h' }, FIRST))
})

test('what was typed and taken back shows theirs, without a conflict', () => {
  const { form, rerender, type } = render()
  type('2h')
  type('1h')
  rerender({ initial: THEIRS, version: SECOND })
  expect([form().isConflict, form().fields]).toEqual([false, THEIRS])
  type('2h')
  expect([form().isConflict, form().fields.url]).toEqual([false, THEIRS.url])
})
