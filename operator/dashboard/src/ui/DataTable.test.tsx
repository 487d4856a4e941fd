import { render, screen } from '@testing-library/react'
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
