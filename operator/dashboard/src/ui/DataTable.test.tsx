import { fireEvent, render, screen } from '@testing-library/react'
import { useState, type ReactElement } from 'react'
import { expect, it } from 'vitest'

import { DataTable, type Column } from '~/ui/DataTable'

interface Row {
  name: string
  phase: string
}

it('renders only the row that changed', () => {
  const rendered: string[] = []
  const columns: readonly Column<Row>[] = [
    {
      id: 'phase',
      header: 'Phase',
      cell: ({ name, phase }) => {
        rendered.push(name)
        return phase
      },
    },
  ]
  const rows = ['one', 'two', 'three'].map((name) => ({ name, phase: 'Deployed' }))
  const table = (content: readonly Row[], selected: ReadonlySet<string>) => (
    <DataTable
      caption="xApps"
      columns={columns}
      rows={content}
      rowKey={({ name }) => name}
      selection={{ selected, onChange: () => undefined }}
    />
  )
  const { rerender } = render(table(rows, new Set()))
  rendered.length = 0

  rerender(table(rows.with(1, { name: 'two', phase: 'Failed' }), new Set()))
  expect(rendered).toEqual(['two'])
  expect(screen.getByText('Failed')).toBeDefined()

  rerender(table(rows.with(1, { name: 'two', phase: 'Failed' }), new Set(['three'])))
  expect(rendered.slice(1)).not.toContain('one')
  expect(screen.getByRole<HTMLInputElement>('checkbox', { name: 'Select three' }).checked).toBe(true)
})

it('shows new rows in the elements of old ones, but with controls of their own', () => {
  const columns: readonly Column<Row>[] = [
    { id: 'phase', header: 'Phase', cell: ({ phase }) => phase },
    {
      id: 'name',
      header: 'Name',
      cell: ({ name }) => (
        <a key={name} href={`/${name}`}>
          {name}
        </a>
      ),
    },
  ]
  const table = (names: readonly string[]) => (
    <DataTable
      caption="xApps"
      columns={columns}
      rows={names.map((name) => ({ name, phase: `phase of ${name}` }))}
      rowKey={({ name }) => name}
      selection={{ selected: new Set(['one']), onChange: () => undefined }}
      reusesRows
    />
  )
  const { rerender } = render(table(['one', 'two']))
  const cell = screen.getByRole('cell', { name: 'phase of one' })
  screen.getByRole('link', { name: 'one' }).focus()
  const box = screen.getByRole('checkbox', { name: 'Select one' })

  rerender(table(['three', 'two']))
  expect(screen.getByRole('cell', { name: 'phase of three' })).toBe(cell)
  expect(box.isConnected).toBe(false)
  expect(screen.getByRole<HTMLInputElement>('checkbox', { name: 'Select three' }).checked).toBe(false)
  expect(document.activeElement).toBe(document.body)

  screen.getByRole('link', { name: 'two' }).focus()
  rerender(table(['four', 'two']))
  expect(document.activeElement).toBe(screen.getByRole('link', { name: 'two' }))
})

it('shows the rows in view at once, and all rows of a long page in the end', async () => {
  const names = (prefix: string) => Array.from({ length: 100 }, (_, at) => ({ name: `${prefix}${at}`, phase: '' }))
  const seen: (readonly [string, string, number])[] = []
  const columns: readonly Column<Row>[] = [{ id: 'name', header: 'Name', cell: ({ name }) => name }]
  const table = (rows: readonly Row[]) => (
    <DataTable caption="xApps" columns={columns} rows={rows} rowKey={({ name }) => name} reusesRows />
  )
  const { container, rerender } = render(table(names('a')))
  const body = container.querySelector('tbody')
  const look = (): void => {
    const rows = [...(body?.querySelectorAll('tr') ?? [])].map((row) => row.textContent)
    seen.push([rows[0] ?? '', rows.at(-1) ?? '', rows.length])
  }
  if (body !== null) new MutationObserver(look).observe(body, { subtree: true, childList: true, characterData: true })
  rerender(table(names('b')))
  await screen.findByText('b99')
  look()
  expect(seen.every(([first, , count]) => first === 'b0' && count === 100)).toBe(true)
  expect(seen.at(-1)).toEqual(['b0', 'b99', 100])

  rerender(table(names('c').slice(0, 3)))
  expect(body?.querySelectorAll('tr')).toHaveLength(3)
})

it('selects ranges with Shift: by a click, and by arrows, which move the focus', () => {
  const names = ['one', 'two', 'three', 'four', 'five']
  function Table(): ReactElement {
    const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
    return (
      <DataTable
        caption="xApps"
        columns={[{ id: 'name', header: 'Name', cell: ({ name }: Row) => name }]}
        rows={names.map((name) => ({ name, phase: '' }))}
        rowKey={({ name }) => name}
        selection={{ selected, onChange: setSelected }}
      />
    )
  }
  render(<Table />)
  const box = (name: string) => screen.getByRole<HTMLInputElement>('checkbox', { name: `Select ${name}` })
  const checked = () => names.filter((name) => box(name).checked)

  fireEvent.click(box('two'))
  fireEvent.click(box('four'), { shiftKey: true })
  expect(checked()).toEqual(['two', 'three', 'four'])
  fireEvent.click(box('one'), { shiftKey: true })
  expect(checked()).toEqual(['one', 'two'])
  fireEvent.click(box('five'))
  expect(checked()).toEqual(['one', 'two', 'five'])

  box('three').focus()
  fireEvent.keyDown(box('three'), { key: 'ArrowDown', shiftKey: true })
  expect(document.activeElement).toBe(box('four'))
  fireEvent.keyDown(box('four'), { key: 'ArrowDown', shiftKey: true })
  expect(checked()).toEqual(names)
  fireEvent.keyDown(box('five'), { key: 'ArrowUp', shiftKey: true })
  fireEvent.keyDown(box('four'), { key: 'ArrowUp', shiftKey: true })
  expect(document.activeElement).toBe(box('three'))
  expect(checked()).toEqual(['one', 'two', 'three', 'five'])
  fireEvent.keyDown(box('one'), { key: 'ArrowUp', shiftKey: true })
  expect(checked()).toEqual(['one', 'two', 'three', 'five'])
})
