import { act, render, screen } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'

import { connection } from '~/api/connection'
import { StateLine } from '~/features/xapp/LogPane'

const ONLINE = { state: 'online', lastAnswerAt: 0, nextTryAt: null } as const

afterEach(() => connection.set(ONLINE))

it('calls no log live while the gateway does not answer, although its stream is still open', () => {
  render(<StateLine state={{ name: 'open' }} isPrevious={false} isPodGone={false} kept={76} isCut={false} />)
  expect(screen.getByRole('status').textContent).toBe('Live. 76 lines')
  act(() => connection.set({ ...ONLINE, state: 'offline' }))
  expect(screen.getByRole('status').textContent).toBe('Interrupted: it goes on by itself. 76 lines')
  act(() => connection.set(ONLINE))
  expect(screen.getByRole('status').textContent).toBe('Live. 76 lines')
})
