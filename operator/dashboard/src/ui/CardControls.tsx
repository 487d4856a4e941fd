import { ArrowDown, ArrowUp } from 'lucide-react'
import type { ReactElement } from 'react'

import { IconButton } from '~/ui/Button'
import { Select, type Item } from '~/ui/Select'
import { SelectAll, type Selection } from '~/ui/SelectAll'

import styles from './DataTable.module.css'

interface CardControlsProps {
  caption: string
  keys: readonly string[]
  selection: Selection | undefined
  /** The columns that can be sorted: the value of `sort` and the header. */
  sorts: readonly Item[]
  sort: string | undefined
  order: 'asc' | 'desc'
  onSort: ((sort: string, order: 'asc' | 'desc') => void) | undefined
}

/** What the head of a table does, for rows that are shown as cards. */
export function CardControls({
  caption,
  keys,
  selection,
  sorts,
  sort,
  order,
  onSort,
}: CardControlsProps): ReactElement | null {
  const isSortable = onSort !== undefined && sorts.length > 0
  if (selection === undefined && !isSortable) return null
  const isKnown = sorts.some(({ id }) => id === sort)
  const Icon = order === 'asc' ? ArrowUp : ArrowDown
  return (
    <div role="group" aria-label={`Rows of ${caption}`} className={styles.controls}>
      {selection !== undefined && <SelectAll keys={keys} selection={selection} text="Select all" />}
      {isSortable && (
        <span className={styles.sorting}>
          <Select
            label="Sort by"
            hidesLabel
            size="small"
            placeholder="Sort by"
            items={sorts}
            value={isKnown ? (sort ?? null) : null}
            onChange={(by) => onSort(by, 'asc')}
          />
          {sort !== undefined && (
            <IconButton
              label={order === 'asc' ? 'Sort descending' : 'Sort ascending'}
              icon={<Icon size={16} aria-hidden />}
              size="small"
              onPress={() => onSort(sort, order === 'asc' ? 'desc' : 'asc')}
            />
          )}
        </span>
      )}
    </div>
  )
}
