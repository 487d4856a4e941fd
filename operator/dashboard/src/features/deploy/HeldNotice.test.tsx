import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { allowPathsInRequests } from '~/api/testRequests'
import { HeldNotice } from '~/features/deploy/HeldNotice'
import { ALLOWED } from '~/lib/rights'
import { MASK } from '~/lib/values/mask'

let answer: () => Response

beforeEach(() => {
  allowPathsInRequests()
  vi.stubGlobal('fetch', ({ url }: Request) => {
    expect(new URL(url).pathname).toBe('/api/xapps/ric/acme-ran-kpi/history/1')
    return Promise.resolve(answer())
  })
})

afterEach(() => vi.unstubAllGlobals())

function Editor() {
  const [text, setText] = useState('typed: 1\n')
  return (
    <>
      <HeldNotice namespace="ric" name="acme-ran-kpi" revision={1} text={text} onChange={setText} right={ALLOWED} />
      <textarea value={text} onChange={(event) => setText(event.target.value)} />
    </>
  )
}

function show(): void {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } })
  render(
    <QueryClientProvider client={client}>
      <Editor />
    </QueryClientProvider>,
  )
}

it('puts the values in force into the editor, and brings back what was typed', async () => {
  answer = () => Response.json({ revision: 1, valuesText: 'greeting: kept?\n' })
  show()
  const user = userEvent.setup()
  screen.getByText('Revision 1 is in force by a rollback')
  screen.getByText('These are the values of the XApp from before it. Applying them ends the rollback.')
  await user.click(screen.getByRole('button', { name: 'Start from the values of revision 1' }))
  await screen.findByText('These are the values of revision 1. Applying them ends the rollback.')
  expect(screen.getByRole('textbox')).toHaveProperty('value', 'greeting: kept?\n')

  await user.click(screen.getByRole('button', { name: 'Undo' }))
  expect(screen.getByRole('textbox')).toHaveProperty('value', 'typed: 1\n')
  screen.getByRole('button', { name: 'Start from the values of revision 1' })
})

it('says whose secret is behind a mask', async () => {
  answer = () => Response.json({ revision: 1, valuesText: `password: ${MASK}\n` })
  show()
  await userEvent.click(screen.getByRole('button', { name: 'Start from the values of revision 1' }))
  await screen.findByText(/A masked secret stays what it is in the XApp/)
})

it('keeps what is typed if the revision cannot be read', async () => {
  answer = () =>
    Response.json({ title: 'Not Found', status: 404, detail: 'no revision 1', errors: [] }, { status: 404 })
  show()
  await userEvent.click(screen.getByRole('button', { name: 'Start from the values of revision 1' }))
  await screen.findByText(/no revision 1/)
  expect(screen.getByRole('textbox')).toHaveProperty('value', 'typed: 1\n')
})
