import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { expect, it } from 'vitest'

import { LoadFile, useLoadedFile } from './LoadFile'

function Values() {
  const [text, onChange] = useState('typed: 1\n')
  return (
    <>
      <textarea value={text} readOnly />
      <LoadFile {...useLoadedFile({ text, onChange, bytesMax: 100 })} />
    </>
  )
}

it('refuses a file in another encoding, and keeps what was typed', async () => {
  render(<Values />)
  const user = userEvent.setup()
  const input = screen.getByLabelText('Values file')
  await user.upload(input, new File([new Uint8Array([0x6a, 0xfc, 0x72])], 'latin1.yaml'))
  expect((await screen.findByRole('alert')).textContent).toMatch(/^latin1\.yaml is not UTF-8 text/)
  expect(screen.getByRole('textbox')).toHaveProperty('value', 'typed: 1\n')
  expect(screen.queryByRole('button', { name: 'Undo' })).toBeNull()

  await user.upload(input, new File(['name: Jürgen\n'], 'utf8.yaml'))
  await screen.findByText('Loaded utf8.yaml.')
  expect(screen.queryByRole('alert')).toBeNull()
  expect(screen.getByRole('textbox')).toHaveProperty('value', 'name: Jürgen\n')
  await user.click(screen.getByRole('button', { name: 'Undo' }))
  expect(screen.getByRole('textbox')).toHaveProperty('value', 'typed: 1\n')
})
