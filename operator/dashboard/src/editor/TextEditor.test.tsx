import { render, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'

import { TextEditor } from './TextEditor'

const unused = (): void => undefined

it('takes lines that end in CRLF, and does not call that a change', async () => {
  const onChange = vi.fn()
  const editor = (value: string) => (
    <TextEditor label="Values" value={value} language="yaml" onChange={onChange} onFile={unused} />
  )
  const { rerender } = render(editor('a: 1\r\nb: 2\r\n'))
  const lines = (): (string | null)[] =>
    [...screen.getByRole('textbox', { name: 'Values' }).querySelectorAll('.cm-line')].map((line) => line.textContent)
  await vi.waitFor(() => expect(lines()).toEqual(['a: 1', 'b: 2', '']))

  rerender(editor('a: 1\r\nc: 3\r\n'))

  expect(lines()).toEqual(['a: 1', 'c: 3', ''])
  expect(onChange).not.toHaveBeenCalled()
})
