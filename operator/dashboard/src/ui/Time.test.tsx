import { act, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { Time } from '~/ui/Time'

const START = Date.parse('2026-11-20T08:00:00Z')

beforeEach(() => void vi.useFakeTimers({ now: START }))
afterEach(() => void vi.useRealTimers())

const ago = (seconds: number): string => new Date(START - seconds * 1000).toISOString()

test('an age that goes over to the clock of another one shows the time of now', () => {
  // The first one has the clock of minutes already, which has not ticked when the second one passes a minute.
  render(
    <>
      <Time at={ago(600)} />
      <Time at={ago(55)} />
    </>,
  )
  expect(screen.getByText('55 s')).toBeTruthy()
  act(() => void vi.advanceTimersByTime(6000))
  expect(screen.getByText('1 min')).toBeTruthy()
  expect(screen.getByText('10 min')).toBeTruthy()
})
