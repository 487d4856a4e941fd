import { act, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { connection } from '~/api/connection'
import { ConnectionBar } from '~/app/ConnectionBar'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
  connection.set({ state: 'online', lastAnswerAt: 0, nextTryAt: null })
})

it('says since when the gateway is away or starting, when it is asked again, and nothing while it answers', () => {
  const lastAnswerAt = new Date(2026, 10, 22, 14, 3, 12).getTime()
  const { container } = render(<ConnectionBar />)
  expect(container.textContent).toBe('')
  act(() => connection.set({ state: 'offline', lastAnswerAt, nextTryAt: Date.now() + 4_000 }))
  act(() => void vi.advanceTimersByTime(500))
  expect(container.textContent).toMatch(/^Not connected\. As of 14:03:12\. Trying again in [45] s/)
  expect(screen.getByRole('button', { name: 'Now' }).getAttribute('aria-disabled')).toBeNull()
  act(() => connection.set({ state: 'starting', lastAnswerAt: 0, nextTryAt: null }))
  expect(container.textContent).toMatch(/^Starting: the gateway is not ready yet\. Trying/)
  expect(screen.getByRole('button', { name: /Now/ }).getAttribute('aria-disabled')).toBe('true')
})
