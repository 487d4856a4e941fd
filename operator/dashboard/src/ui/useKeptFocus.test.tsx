import { act, render, screen } from '@testing-library/react'
import { userEvent } from '@testing-library/user-event'
import { useState } from 'react'
import { expect, it } from 'vitest'

import { useKeptFocus } from '~/ui/useKeptFocus'

function Choice() {
  const [chosen, setChosen] = useState<string | null>(null)
  const box = useKeptFocus<HTMLDivElement>()
  return (
    <>
      <div {...box} role="group" aria-label="Chart file">
        {chosen === null ? <button onClick={() => setChosen('hello')}>Choose</button> : <p>{chosen}</p>}
      </div>
      <input aria-label="Team" onBlur={() => setChosen('by another way')} />
    </>
  )
}

it('gives the focus to the box when the focused element in it goes', async () => {
  const user = userEvent.setup()
  render(<Choice />)
  await user.tab()
  await user.keyboard('{Enter}')
  expect(screen.getByText('hello')).toBeTruthy()
  expect(document.activeElement).toBe(screen.getByRole('group', { name: 'Chart file' }))
})

it('takes no focus once the reader has left', async () => {
  const user = userEvent.setup()
  render(<Choice />)
  await user.tab()
  await user.tab()
  act(() => screen.getByRole('textbox').blur())
  expect(screen.getByText('by another way')).toBeTruthy()
  expect(document.activeElement).toBe(document.body)
})
