import { fireEvent, render, renderHook, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'

import { Problem } from '~/lib/problem'
import { Pagination, useLeftPage } from '~/ui/Pagination'
import type { QueryLike } from '~/ui/Panel'

const gone = new Problem(
  {
    type: 'urn:xapp-operator:problem:malformed-request',
    title: 'Malformed request',
    status: 400,
    detail: 'page must be between 1 and 1 (the last page), not "2"',
    instance: '/api/xapps',
    errors: [{ field: 'page', message: 'must be between 1 and 1 (the last page), not "2"' }],
    missing: [],
  },
  { method: 'GET', retryAfter: null, at: new Date(0) },
)

function queryWith(error: unknown, data?: string): QueryLike<string> {
  return { data, error, isFetching: false, dataUpdatedAt: 0, refetch: () => undefined }
}

it.each([
  ['the page before, from rows that are all gone', 'rows', 5, 4],
  ['the first page, from a page that was never there', undefined, 99, 1],
])('goes to %s, without the error, and says so', (_, data, page, to) => {
  const onPage = vi.fn()
  const asked: { error: unknown; page: number } = { error: gone, page }
  const { result, rerender } = renderHook(({ error, page }) => useLeftPage(queryWith(error, data), page, onPage), {
    initialProps: asked,
  })
  expect(onPage).toHaveBeenCalledWith(to)
  expect(result.current.query.error).toBeNull()

  rerender({ error: null, page: to })
  expect(render(result.current.note).container.textContent).toBe(`There is no page ${page}. This is page ${to}.`)
  rerender({ error: null, page: to + 1 })
  expect(result.current.note).toBeNull()
})

it('leaves other errors to the page', () => {
  const onPage = vi.fn()
  const { result } = renderHook(() => useLeftPage(queryWith(new Error('broken')), 2, onPage))
  expect(result.current.query.error).toEqual(new Error('broken'))
  expect(onPage).not.toHaveBeenCalled()
})

it('says which pages there are when the field has none of them, and keeps the text and the focus', () => {
  const onPage = vi.fn()
  const pages = (page: number) => <Pagination page={page} lastPage={1200} total={60_000} perPage={50} onPage={onPage} />
  const { rerender } = render(pages(1))
  const field = screen.getByRole<HTMLInputElement>('textbox', { name: 'Page' })
  field.focus()
  for (const text of ['abc', '0', '1201', '1.5', '']) {
    fireEvent.change(field, { target: { value: text } })
    expect(screen.queryByRole('alert')).toBeNull()
    fireEvent.keyDown(field, { key: 'Enter' })
    expect(field.value).toBe(text)
    expect(screen.getByRole('alert').textContent).toBe('There is no such page: type a number from 1 to 1,200.')
    expect(field.getAttribute('aria-describedby')).toBe(screen.getByRole('alert').id)
    expect(document.activeElement).toBe(field)
  }
  expect(onPage).not.toHaveBeenCalled()
  fireEvent.keyDown(field, { key: 'Escape' })
  expect([field.value, screen.queryByRole('alert')]).toEqual(['1', null])

  fireEvent.change(field, { target: { value: '1,200' } })
  fireEvent.keyDown(field, { key: 'Enter' })
  expect(onPage).toHaveBeenCalledWith(1200)
  rerender(pages(1200))
  expect(document.activeElement).toBe(screen.getByRole('textbox', { name: 'Page' }))
  rerender(pages(1))
  expect(field.value).toBe('1')
})
