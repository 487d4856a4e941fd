import { act, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { NotConnected } from '~/lib/problem'
import type { ChoicesRead } from '~/ui/ChoicesState'
import { ComboBox } from '~/ui/ComboBox'
import { FilterMenu } from '~/ui/FilterMenu'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

const refetch = vi.fn()
const onChange = () => undefined

function read(query: Partial<ChoicesRead['query']>): ChoicesRead {
  return { what: 'namespaces', query: { isFetching: false, error: null, refetch, ...query } }
}

function filter(query: Partial<ChoicesRead['query']>) {
  return <FilterMenu label="Namespace" selected={[]} choices={[]} read={read(query)} onChange={onChange} />
}

function field(query: Partial<ChoicesRead['query']>) {
  return <ComboBox label="Namespace" items={[]} value="" onChange={onChange} read={read(query)} />
}

const open = () => {
  const box = screen.queryByRole('combobox')
  if (box !== null) act(() => box.focus())
  else fireEvent.click(screen.getByRole('button', { name: 'Namespace' }))
}

it.each([
  ['a field', field],
  ['a filter', filter],
])('%s says what it reads, and after two seconds for how long', (_, shown) => {
  const { rerender } = render(shown({ isFetching: true }))
  open()
  const list = () => screen.getByRole('listbox', { hidden: true }).textContent
  expect(list()).toBe('Loading the namespaces')
  act(() => void vi.advanceTimersByTime(3500))
  expect(list()).toBe('Loading the namespacesWaiting for the gateway: 3 s')
  rerender(shown({}))
  expect(list()).toBe('None found')
  // The shell says it for the whole page, and it is read again by itself.
  rerender(shown({ error: new NotConnected() }))
  expect(list()).toBe('Loading the namespaces')
  expect(screen.queryByRole('alert', { hidden: true })).toBeNull()
})

it.each([
  ['a field', field],
  ['a filter', filter],
])('%s says why its choices could not be read, and reads them again', (_, shown) => {
  refetch.mockClear()
  const { rerender } = render(shown({ isFetching: true }))
  open()
  rerender(shown({ error: new Error('too slow') }))
  expect(screen.getByRole('alert').textContent).toBe('The namespaces could not be loaded. too slow')
  expect(screen.queryByText('None found')).toBeNull()
  fireEvent.click(screen.getByRole('button', { name: 'Retry' }))
  expect(refetch).toHaveBeenCalledOnce()
})

it('connects the message with its field, and puts the focus there when it is read again', () => {
  render(field({ error: new Error('too slow') }))
  const box = screen.getByRole('combobox')
  const described = (box.getAttribute('aria-describedby') ?? '').split(' ')
  expect(described.map((id) => document.getElementById(id)?.textContent).join('')).toContain('too slow')
  fireEvent.click(screen.getByRole('button', { name: 'Retry' }))
  expect(document.activeElement).toBe(box)
})
