import { act, render, screen } from '@testing-library/react'
import { beforeEach, expect, it, vi } from 'vitest'

import type { XApp } from '~/api/queries/xapps'
import { useListKeys } from '~/features/xapps/useListKeys'
import { keyBindings } from '~/lib/keyBindings'

const open = vi.hoisted(() => vi.fn())
vi.mock('@tanstack/react-router', () => ({ useNavigate: () => open }))

const ROWS = ['a', 'b', 'c', 'd'].map((name) => ({ uid: name, namespace: 'ric', name }) as XApp)
const selected = vi.fn()

function List() {
  const current = useListKeys(ROWS, selected)
  return ROWS.map(({ uid }) => (
    <p key={uid} data-row={uid} data-current={uid === current || undefined}>
      <a href={`#${uid}`}>{uid}</a>
    </p>
  ))
}

function press(keys: string): void {
  act(() =>
    keyBindings
      .get()
      .find((binding) => binding.keys === keys)
      ?.run(),
  )
}

beforeEach(() => {
  selected.mockClear()
  open.mockClear()
  render(<List />)
})

it('selects, opens and goes on from the row that has the focus, also if the keys of the list were on another', () => {
  press('j')
  expect(screen.getByText('a')).toBe(document.activeElement)
  screen.getByText('c').focus()
  press('x')
  expect(selected.mock.lastCall).toEqual(['c'])
  press('j')
  expect(screen.getByText('d')).toBe(document.activeElement)
  screen.getByText('b').focus()
  press('Enter')
  expect(open.mock.lastCall).toEqual([{ to: '/xapps/$namespace/$name', params: { namespace: 'ric', name: 'b' } }])
})

it('stays on its row while the focus is outside the list', () => {
  press('j')
  press('j')
  act(() => screen.getByText('b').blur())
  press('x')
  expect(selected.mock.lastCall).toEqual(['b'])
})
