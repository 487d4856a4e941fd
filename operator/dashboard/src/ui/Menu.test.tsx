import { render, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'

import { pageMenu } from '~/lib/pageMenus'
import { MenuButton } from '~/ui/Menu'

it('tells what a closed menu contains, as it is now, while its button is on the page', () => {
  const suspend = { id: 'suspend', label: 'Suspend', onAction: vi.fn() }
  const resume = { id: 'resume', label: 'Resume', onAction: vi.fn(), right: { allowed: false, reason: 'Not now' } }
  const { rerender, unmount } = render(<MenuButton label="More" items={[suspend]} />)
  const { menu } = screen.getByRole('button', { name: 'More' }).dataset
  expect(pageMenu(menu)).toEqual({ label: 'More', items: [suspend] })
  rerender(<MenuButton label="More" items={['separator', resume]} />)
  expect(pageMenu(menu)).toEqual({ label: 'More', items: ['separator', resume] })
  unmount()
  expect(pageMenu(menu)).toBeUndefined()
  expect(pageMenu(undefined)).toBeUndefined()
})

it('tells apart two menus of the same name', () => {
  const first = { id: 'one', label: 'One', onAction: vi.fn() }
  const second = { id: 'two', label: 'Two', onAction: vi.fn() }
  render(
    <>
      <MenuButton label="Copy as" items={[first]} />
      <MenuButton label="Copy as" showsIconOnly items={[second]} />
    </>,
  )
  const found = screen.getAllByRole('button').map((button) => pageMenu(button.dataset.menu)?.items)
  expect(found).toEqual([[first], [second]])
})
