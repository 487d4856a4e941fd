import { act, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { DataTable, type Column } from '~/ui/DataTable'

interface Row {
  name: string
  reason: string
}

const COLUMNS: readonly Column<Row>[] = [{ id: 'reason', header: 'Reason', cell: ({ reason }) => reason }]
let isBusy = true

beforeEach(() => {
  isBusy = true
  vi.useFakeTimers()
  // Of a row as a browser lays it out: a reason takes more room, unless the row is held.
  vi.spyOn(HTMLTableRowElement.prototype, 'getBoundingClientRect').mockImplementation(function (
    this: HTMLTableRowElement,
  ) {
    const own = this.textContent === '' || 'held' in this.dataset ? 40 : 69
    return { height: Math.max(own, Number.parseFloat(this.style.height) || 0) } as DOMRect
  })
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const table = (rows: readonly Row[]) => (
  <DataTable
    caption="xApps"
    columns={COLUMNS}
    rows={rows}
    rowKey={({ name }) => name}
    reusesRows
    isHeld={() => isBusy}
  />
)
const rowOf = (name: string) => document.querySelector<HTMLElement>(`[data-row="${name}"]`)
const heights = () => ['one', 'two'].map((name) => rowOf(name)?.getBoundingClientRect().height)

it('keeps the heights of rows while the reader is at work, and lets them go afterwards', () => {
  const { rerender } = render(table([row('one', ''), row('two', 'it crashes')]))
  expect(heights()).toEqual([40, 69])
  rerender(table([row('one', 'no image'), row('two', '')]))
  expect(screen.getByText('no image')).toBeDefined()
  expect(heights()).toEqual([40, 69])
  expect(rowOf('one')?.dataset.held).toBe('')
  act(() => void vi.advanceTimersByTime(2000))
  expect(heights()).toEqual([40, 69])

  isBusy = false
  act(() => void vi.advanceTimersByTime(600))
  expect(heights()).toEqual([69, 40])
  expect(vi.getTimerCount()).toBe(0)
})

it('holds nothing where the reader brings in other rows, nor where nobody is at work', () => {
  const { rerender } = render(table([row('one', ''), row('two', '')]))
  rerender(table([row('one', 'no image'), row('two', '')]))
  rerender(table([row('three', 'it crashes'), row('two', '')]))
  expect(rowOf('three')?.getBoundingClientRect().height).toBe(69)

  isBusy = false
  rerender(table([row('three', 'it crashes'), row('two', 'it crashes')]))
  expect(rowOf('two')?.getBoundingClientRect().height).toBe(69)
})

function row(name: string, reason: string): Row {
  return { name, reason }
}
