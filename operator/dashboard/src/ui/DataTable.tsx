import { ArrowDown, ArrowUp } from 'lucide-react'
import { memo, useCallback, useEffect, useRef, type ReactElement, type ReactNode } from 'react'

import { classes } from '~/ui/classes'
import { RowCheckbox } from '~/ui/RowCheckbox'

import styles from './DataTable.module.css'

export interface Column<R> {
  id: string
  header: string
  cell: (row: R) => ReactNode
  /** The value of `sort` that orders by this column. */
  sort?: string
  align?: 'end'
  /** `medium`: left out below 1280 px. Show what matters in the first column's `more`. */
  fold?: 'medium'
  /** Hides the name of the column in the cards of narrow pages. */
  hidesLabel?: boolean
}

export interface Selection {
  selected: ReadonlySet<string>
  onChange: (selected: ReadonlySet<string>) => void
}

interface DataTableProps<R> {
  caption: string
  columns: readonly Column<R>[]
  rows: readonly R[]
  rowKey: (row: R) => string
  /** The name of a row for its checkbox. */
  rowLabel?: (row: R) => string
  sort?: string
  order?: 'asc' | 'desc'
  onSort?: (sort: string, order: 'asc' | 'desc') => void
  selection?: Selection
  /** The row that the keyboard is on. */
  currentRow?: string | null
  isStale?: boolean
}

/** A native table; its rows become cards below 720 px. Rows keep their order: the server sorts. */
export function DataTable<R>({
  caption,
  columns,
  rows,
  rowKey,
  rowLabel = rowKey,
  sort,
  order = 'asc',
  onSort,
  selection,
  currentRow,
  isStale = false,
}: DataTableProps<R>): ReactElement {
  const toggle = useToggle(selection)
  return (
    <div className={styles.scroll}>
      <table className={classes(styles.table, isStale && styles.stale)}>
        <caption className={styles.caption}>{caption}</caption>
        <thead>
          <tr>
            {selection !== undefined && (
              <th scope="col" className={styles.check}>
                <SelectAll keys={rows.map(rowKey)} selection={selection} />
              </th>
            )}
            {columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                className={classes(column.align === 'end' && styles.end, column.fold !== undefined && styles.medium)}
                aria-sort={column.sort !== undefined && column.sort === sort ? ariaSort(order) : undefined}
              >
                {column.sort === undefined || onSort === undefined ? (
                  column.header
                ) : (
                  <SortButton column={column.header} by={column.sort} sort={sort} order={order} onSort={onSort} />
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const key = rowKey(row)
            return (
              <MemoizedRow
                key={key}
                id={key}
                row={row}
                columns={columns as readonly Column<unknown>[]}
                label={rowLabel(row)}
                isSelected={selection?.selected.has(key) ?? null}
                isCurrent={currentRow === key}
                onToggle={toggle}
              />
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

/** Returns a function that selects or deselects a row. It stays the same, so that no other row is rendered. */
function useToggle(selection: Selection | undefined): (key: string) => void {
  const latest = useRef(selection)
  useEffect(() => {
    latest.current = selection
  })
  return useCallback((key) => latest.current?.onChange(toggled(latest.current.selected, key)), [])
}

interface RowProps {
  id: string
  row: unknown
  columns: readonly Column<unknown>[]
  label: string
  /** null: rows cannot be selected. */
  isSelected: boolean | null
  isCurrent: boolean
  onToggle: (key: string) => void
}

/** Rendered again only when its own record, selection or columns change: a page has up to 1,000 cells. */
const MemoizedRow = memo(function Row({ id, row, columns, label, isSelected, isCurrent, onToggle }: RowProps) {
  return (
    <tr data-row={id} data-selected={isSelected === true || undefined} data-current={isCurrent || undefined}>
      {isSelected !== null && (
        <td className={styles.check}>
          <RowCheckbox label={`Select ${label}`} isSelected={isSelected} onChange={() => onToggle(id)} />
        </td>
      )}
      {columns.map((column) => (
        <td
          key={column.id}
          data-label={column.hidesLabel === true ? undefined : column.header}
          className={classes(column.align === 'end' && styles.end, column.fold !== undefined && styles.medium)}
        >
          {column.cell(row)}
        </td>
      ))}
    </tr>
  )
})

function ariaSort(order: 'asc' | 'desc'): 'ascending' | 'descending' {
  return order === 'asc' ? 'ascending' : 'descending'
}

/** Returns the set with the key added, or removed if it was there. */
export function toggled(selected: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(selected)
  if (!next.delete(key)) next.add(key)
  return next
}

function SelectAll({ keys, selection }: { keys: readonly string[]; selection: Selection }): ReactElement {
  const count = keys.filter((key) => selection.selected.has(key)).length
  const isAll = keys.length > 0 && count === keys.length
  const change = (): void => {
    const next = new Set(selection.selected)
    for (const key of keys) {
      if (isAll) next.delete(key)
      else next.add(key)
    }
    selection.onChange(next)
  }
  return (
    <RowCheckbox
      label="Select all rows of this page"
      isSelected={isAll}
      isIndeterminate={count > 0 && !isAll}
      onChange={change}
    />
  )
}

interface SortButtonProps {
  column: string
  by: string
  sort: string | undefined
  order: 'asc' | 'desc'
  onSort: (sort: string, order: 'asc' | 'desc') => void
}

function SortButton({ column, by, sort, order, onSort }: SortButtonProps): ReactElement {
  const isActive = by === sort
  const Icon = order === 'asc' ? ArrowUp : ArrowDown
  return (
    <button
      type="button"
      className={styles.sort}
      onClick={() => onSort(by, isActive && order === 'asc' ? 'desc' : 'asc')}
    >
      {column}
      {isActive && <Icon size={14} aria-hidden />}
    </button>
  )
}
