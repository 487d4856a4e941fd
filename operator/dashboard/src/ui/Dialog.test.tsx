import { act, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { ConfirmDialog } from '~/ui/Dialog'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

function dialog(isPending: boolean) {
  return (
    <ConfirmDialog
      title="Uninstall it?"
      isOpen
      onClose={vi.fn()}
      confirmLabel="Uninstall"
      onConfirm={vi.fn()}
      isPending={isPending}
    >
      It goes.
    </ConfirmDialog>
  )
}

it('says after two seconds what a confirmed action waits for, and how long', () => {
  const { rerender } = render(dialog(false))
  act(() => void vi.advanceTimersByTime(5000))
  expect(screen.queryByText(/Waiting/)).toBeNull()
  rerender(dialog(true))
  act(() => void vi.advanceTimersByTime(1900))
  expect(screen.queryByText(/Waiting/)).toBeNull()
  act(() => void vi.advanceTimersByTime(1600))
  expect(screen.getByText(/Waiting/).textContent).toBe('Waiting for the gateway: 3 s')
  rerender(dialog(false))
  expect(screen.queryByText(/Waiting/)).toBeNull()
})
