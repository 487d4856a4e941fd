import { render, screen } from '@testing-library/react'
import type { ReactElement } from 'react'
import { expect, it } from 'vitest'

import { NotConnected, Problem } from '~/lib/problem'
import { QueryContent } from '~/ui/Panel'

function problem(status: number, kind: string): Problem {
  const fields = {
    type: `urn:xapp:problem:${kind}`,
    title: 'Refused',
    status,
    detail: 'Because.',
    instance: '/api/xapps',
  }
  return new Problem({ ...fields, errors: [], missing: [] }, { method: 'GET', retryAfter: null, at: new Date() })
}

function content(error: unknown, data?: string) {
  const query = { data, error, isFetching: false, dataUpdatedAt: 0, refetch: () => undefined }
  return <QueryContent query={query}>{(text) => <p>{text}</p>}</QueryContent>
}

it('leaves to the shell what it says for the whole page', () => {
  const { rerender } = render(content(new NotConnected(), 'known'))
  for (const error of [new NotConnected(), problem(503, 'not-ready'), problem(401, 'unauthenticated')]) {
    rerender(content(error, 'known'))
    expect(screen.queryByRole('alert')).toBeNull()
    expect(screen.getByText('known')).toBeDefined()
    rerender(content(error))
    expect(screen.queryByRole('alert')).toBeNull()
  }
})

it('says in its place what else went wrong, above the old data', () => {
  render(content(problem(504, 'timeout'), 'known'))
  expect(screen.getByRole('alert').textContent).toMatch(/^Refused.*Because\./)
  for (const name of ['Retry', 'Copy report']) expect(screen.getByRole('button', { name })).toBeDefined()
  expect(screen.getByText('known')).toBeDefined()
})

it('keeps the state of its content when nothing is read any more', () => {
  const query = { data: 'known', error: null, isFetching: false, dataUpdatedAt: 0, refetch: () => undefined }
  const form = (ended?: ReactElement) => (
    <QueryContent query={query} ended={ended}>
      {(text) => <input aria-label={text} />}
    </QueryContent>
  )
  const { rerender } = render(form())
  const field = screen.getByRole('textbox')
  rerender(form(<p>ended</p>))
  expect(screen.getByRole('textbox')).toBe(field)
  expect(screen.queryByText('ended')).toBeNull()
})
