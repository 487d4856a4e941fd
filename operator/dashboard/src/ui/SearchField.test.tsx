import { fireEvent, render, screen, waitFor } from '@testing-library/react'
import { userEvent } from '@testing-library/user-event'
import { useState } from 'react'
import { expect, it } from 'vitest'

import { SearchField } from '~/ui/SearchField'

/** A page that keeps the search in its address, as ours do. */
function SearchPage({ sent }: { sent: string[] }) {
  const [value, setValue] = useState('')
  const search = (text: string): void => {
    sent.push(text)
    setValue(text)
  }
  return (
    <>
      <SearchField label="Search xApps" value={value} onChange={search} />
      <button onClick={() => setValue('from back')}>Back</button>
    </>
  )
}

it('shows each key at once, and sends the text after a pause', async () => {
  const user = userEvent.setup()
  const sent: string[] = []
  render(<SearchPage sent={sent} />)
  const field = screen.getByRole<HTMLInputElement>('searchbox')
  fireEvent.change(field, { target: { value: 'hello' } })
  expect(field.value).toBe('hello')
  expect(sent).toEqual([])
  await waitFor(() => expect(sent.at(-1)).toBe('hello'))

  await user.type(field, ' world{Enter}')
  expect(sent.at(-1)).toBe('hello world')
  await user.clear(field)
  expect(sent.at(-1)).toBe('')
})

it('shows a value that comes from elsewhere', async () => {
  const user = userEvent.setup()
  render(<SearchPage sent={[]} />)
  const field = screen.getByRole<HTMLInputElement>('searchbox')
  await user.type(field, 'hello{Enter}')
  await user.click(screen.getByText('Back'))
  expect(field.value).toBe('from back')
  await user.clear(field)
  await user.type(field, 'hello{Enter}')
  expect(field.value).toBe('hello')
})
