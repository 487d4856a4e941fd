import { act, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { Skeleton } from '~/ui/Skeleton'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

it('takes its room at once, and is seen after 150 ms', () => {
  render(<Skeleton lines={4} />)
  const skeleton = screen.getByLabelText('Loading')
  expect(skeleton.children).toHaveLength(4)
  act(() => void vi.advanceTimersByTime(149))
  expect(skeleton.className).toContain('early')
  act(() => void vi.advanceTimersByTime(1))
  expect(skeleton.className).not.toContain('early')
})
