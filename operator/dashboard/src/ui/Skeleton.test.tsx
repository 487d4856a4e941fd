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

it('says what it waits for after two seconds, and how long', () => {
  const { rerender } = render(<Skeleton />)
  act(() => void vi.advanceTimersByTime(1900))
  expect(screen.queryByText(/Waiting/)).toBeNull()
  act(() => void vi.advanceTimersByTime(1600))
  expect(screen.getByText(/Waiting/).textContent).toBe('Waiting for the gateway: 3 s')
  rerender(<Skeleton waitsFor="The gateway reads the chart" waitsAtMost={60} />)
  expect(screen.getByText(/reads/).textContent).toBe('The gateway reads the chart: 3 s of at most 60 s')
  rerender(<Skeleton isWaiting={false} />)
  expect(screen.queryByText(/Waiting/)).toBeNull()
})
