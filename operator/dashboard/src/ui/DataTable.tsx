import { ArrowDown, ArrowUp } from 'lucide-react'
import {
  memo,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
  type CSSProperties,
  type KeyboardEvent,
  type ReactElement,
  type ReactNode,
} from 'react'

import { extendRange, startRange, type RowRange } from '~/lib/rowRange'
import { assignSlots, type RowSlots } from '~/lib/rowSlots'
import { CardControls } from '~/ui/CardControls'
import { classes } from '~/ui/classes'
import { RowCheckbox } from '~/ui/RowCheckbox'
import { SelectAll, type Selection } from '~/ui/SelectAll'
import { TableBody } from '~/ui/TableBody'
import { useDelayed } from '~/ui/useDelayed'
import { useMediaQuery } from '~/ui/useMediaQuery'

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
  /**
   * Its width from 1280 px, and from 720 px. If a column has one, none depends on the rows: columns stay where they are
   * from page to page, and a long text takes no room of others. Those without share the rest.
   */
  width?: readonly [wide: string, medium: string]
  /** Hides the name of the column in the cards of narrow pages. */
  hidesLabel?: boolean
  /** Holds one small button: the header is for screen readers only, and in a card it stands at the top. */
  isControl?: boolean
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
  /** Other rows are on their way. */
  isStale?: boolean
  /**
   * Shows new rows in the elements of rows that are gone. Cells keep their state then, unless they have a `key` of
   * their row; so must every control, that no press or focus meant for one row reaches another.
   */
  reusesRows?: boolean
  /** Whether the reader is at work in the table: then rows keep their height, and with it their place. */
  isHeld?: () => boolean
}

/** Most answers come without a change of looks, which would draw all rows twice, also on slow computers. */
const STALE_MILLISECONDS = 500

/** A native table; below 720 px its rows become cards, and its controls stand above them. Rows keep their order: the server sorts. */
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
  reusesRows = false,
  isHeld,
}: DataTableProps<R>): ReactElement {
  const keys = rows.map(rowKey)
  const selecting = useRowSelection(selection, keys)
  const shown = useRowsInViewFirst(rows, rowKey)
  const slots = useRowSlots(reusesRows ? shown.map(rowKey) : NO_KEYS)
  const looksStale = useDelayed(isStale, STALE_MILLISECONDS)
  // The head of a table of cards is for screen readers only: what it does is done above the cards.
  const isCards = useMediaQuery('(width < 45em)')
  return (
    <div className={styles.scroll}>
      {isCards && (
        <CardControls
          caption={caption}
          keys={keys}
          selection={selection}
          sorts={columns.flatMap(({ sort: by, header }) => (by === undefined ? [] : [{ id: by, label: header }]))}
          sort={sort}
          order={order}
          onSort={onSort}
        />
      )}
      <table
        className={classes(
          styles.table,
          looksStale && styles.stale,
          columns.some(({ width }) => width !== undefined) && styles.fixed,
        )}
      >
        <caption className={styles.caption}>{caption}</caption>
        <thead>
          <tr>
            {selection !== undefined && (
              <th scope="col" className={styles.check}>
                {!isCards && <SelectAll keys={keys} selection={selection} />}
              </th>
            )}
            {columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                className={cellClass(column)}
                style={widths(column.width)}
                aria-sort={column.sort !== undefined && column.sort === sort ? ariaSort(order) : undefined}
              >
                {column.isControl === true ? (
                  <span className={styles.caption}>{column.header}</span>
                ) : column.sort === undefined || onSort === undefined || isCards ? (
                  column.header
                ) : (
                  <SortButton column={column.header} by={column.sort} sort={sort} order={order} onSort={onSort} />
                )}
              </th>
            ))}
          </tr>
        </thead>
        <TableBody keys={shown.map(rowKey)} isHeld={isHeld}>
          {shown.map((row) => {
            const key = rowKey(row)
            return (
              <MemoizedRow
                key={reusesRows ? slots.get(key) : key}
                id={key}
                row={row}
                columns={columns as readonly Column<unknown>[]}
                label={rowLabel(row)}
                isSelected={selection?.selected.has(key) ?? null}
                isCurrent={currentRow === key}
                selecting={selecting}
              />
            )
          })}
        </TableBody>
      </table>
    </div>
  )
}

const LOWEST_ROW_PIXELS = 32
const NO_KEYS: readonly string[] = []

/**
 * Returns the rows to show now. Of a long page, the rows that fit into a window come first; below them the former ones
 * stay, so that the page keeps its height, until the others are ready a moment later.
 */
function useRowsInViewFirst<R>(rows: readonly R[], rowKey: (row: R) => string): readonly R[] {
  const ready = useDeferredValue(rows)
  const inView = Math.ceil(window.innerHeight / LOWEST_ROW_PIXELS)
  if (ready === rows || rows.length <= inView) return rows
  const first = rows.slice(0, inView)
  const known = new Set(first.map(rowKey))
  return [...first, ...ready.slice(inView, rows.length).filter((row) => !known.has(rowKey(row)))]
}

/** Returns the number of the elements of each row, which stays the same while the row is shown. */
function useRowSlots(keys: readonly string[]): RowSlots {
  const [current, setCurrent] = useState(() => ({ keys, slots: assignSlots(new Map(), keys) }))
  if (keys.length === current.keys.length && keys.every((key, at) => key === current.keys[at])) return current.slots
  const slots = assignSlots(current.slots, keys)
  setCurrent({ keys, slots })
  return slots
}

interface RowSelecting {
  /** Selects or deselects a row; with `isRange` all rows from the one before to this one. */
  toggle: (key: string, isRange: boolean) => void
  /** Selects the rows from where a range began, or else from `from`, to `to`. */
  extend: (from: string, to: string) => void
}

/** Returns functions that select rows. They stay the same, so that no other row is rendered. */
function useRowSelection(selection: Selection | undefined, keys: readonly string[]): RowSelecting {
  const latest = useRef({ selection, keys })
  useEffect(() => {
    latest.current = { selection, keys }
  })
  const range = useRef<RowRange | null>(null)
  return useMemo(() => {
    const select = (known: RowRange | null, fresh: (selected: ReadonlySet<string>) => RowRange, end: string): void => {
      const { selection, keys } = latest.current
      if (selection === undefined) return
      const { selected } = selection
      const next = (known && extendRange(known, { keys, selected, end })) ?? fresh(selected)
      range.current = extendRange(next, { keys, selected: next.selected, end }) ?? next
      selection.onChange(range.current.selected)
    }
    return {
      toggle: (key, isRange) =>
        select(isRange ? range.current : null, (selected) => startRange(selected, key, !selected.has(key)), key),
      extend: (from, to) =>
        select(range.current?.end === from ? range.current : null, (selected) => startRange(selected, from, true), to),
    }
  }, [])
}

interface RowProps {
  id: string
  row: unknown
  columns: readonly Column<unknown>[]
  label: string
  /** null: rows cannot be selected. */
  isSelected: boolean | null
  isCurrent: boolean
  selecting: RowSelecting
}

/** Rendered again only when its own record, selection or columns change: a page has up to 1,000 cells. */
const MemoizedRow = memo(function Row({ id, row, columns, label, isSelected, isCurrent, selecting }: RowProps) {
  return (
    <tr data-row={id} data-selected={isSelected === true || undefined} data-current={isCurrent || undefined}>
      {isSelected !== null && (
        <td className={styles.check}>
          <RowCheckbox
            key={id}
            label={`Select ${label}`}
            isSelected={isSelected}
            onChange={(isRange) => selecting.toggle(id, isRange)}
            onKeyDown={(event) => moveWithShift(event, (to) => selecting.extend(id, to))}
          />
        </td>
      )}
      {columns.map((column) => (
        <td
          key={column.id}
          data-label={column.hidesLabel === true || column.isControl === true ? undefined : column.header}
          className={cellClass(column)}
        >
          {column.cell(row)}
        </td>
      ))}
    </tr>
  )
})

function cellClass({ align, fold, isControl }: Column<never>): string {
  return classes(align === 'end' && styles.end, fold !== undefined && styles.medium, isControl && styles.control)
}

/** With Shift and an arrow the focus goes to the checkbox of the next or the previous row. */
function moveWithShift(event: KeyboardEvent<HTMLInputElement>, onMove: (key: string) => void): void {
  if (!event.shiftKey || (event.key !== 'ArrowDown' && event.key !== 'ArrowUp')) return
  const row = event.currentTarget.closest('tr')
  const next = event.key === 'ArrowDown' ? row?.nextElementSibling : row?.previousElementSibling
  if (!(next instanceof HTMLElement) || next.dataset.row === undefined) return
  event.preventDefault()
  next.querySelector<HTMLInputElement>('input[type="checkbox"]')?.focus()
  onMove(next.dataset.row)
}

/** Returns the properties from which the style sheet takes the width of a column. */
function widths(width: Column<never>['width']): CSSProperties | undefined {
  return width === undefined ? undefined : ({ '--wide': width[0], '--medium': width[1] } as CSSProperties)
}

function ariaSort(order: 'asc' | 'desc'): 'ascending' | 'descending' {
  return order === 'asc' ? 'ascending' : 'descending'
}

/** Returns the set with the key added, or removed if it was there. */
export function toggled(selected: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(selected)
  if (!next.delete(key)) next.add(key)
  return next
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
