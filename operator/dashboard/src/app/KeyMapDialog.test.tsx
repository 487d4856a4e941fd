import { render, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'

import { KeyMapDialog } from '~/app/KeyMapDialog'
import { registerKeys } from '~/lib/keyBindings'

vi.mock('~/ui/Link', () => ({ Link: () => null }))

const OFF = ', not on this page'

function textOf(keys: string): string | undefined {
  const key = screen.getAllByRole('term').find((term) => term.textContent === keys)
  return key?.nextElementSibling?.textContent
}

it('lists all keys, and says which do nothing on the open page', () => {
  const stop = registerKeys([
    { keys: 'Ctrl+k', run: () => undefined },
    { keys: 'e', run: () => undefined },
  ])
  render(<KeyMapDialog onClose={() => undefined} />)
  expect(textOf('Ctrl+K')).toBe('Search or jump')
  expect(textOf('e')).toBe('Edit values')
  expect(textOf('j')).toBe(`Next row${OFF}`)
  expect(textOf('Ctrl+Enter')).toMatch(/^Press the main button.*, not on this page$/)
  expect(textOf('Esc')).toBe('Close a dialog or a menu')
  expect(textOf('Esc Tab')).toBe('Leave an editor, where Tab indents')
  stop()
})
