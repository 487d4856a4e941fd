import { useRef, type ReactElement, type ReactNode } from 'react'

import { Button } from '~/ui/Button'
import { FilterSheet } from '~/ui/FilterSheet'

import styles from './FilterBar.module.css'

interface FilterBarProps {
  /** The search field. */
  search: ReactNode
  /** The other filters. */
  children: ReactNode
  isSearched: boolean
  /** How many of the other filters are set. */
  active: number
  onClear: () => void
  /** Enter was pressed in one of the other filters. */
  onEnter: () => void
}

/** A search with filters below it; on narrow pages these are a sheet. */
export function FilterBar(props: FilterBarProps): ReactElement {
  const { search, children, isSearched, active, onClear, onEnter } = props
  const bar = useRef<HTMLDivElement>(null)
  const clear = (): void => {
    onClear()
    // The button goes, and with it the focus.
    bar.current?.querySelector<HTMLElement>('[data-search]')?.focus()
  }
  return (
    <div className={styles.bar} ref={bar}>
      <div className={styles.search}>{search}</div>
      {(isSearched || active > 0) && <Button onPress={clear}>Clear filters</Button>}
      <div
        className={styles.filters}
        // Before the field: a list of choices keeps Enter to itself.
        onKeyDownCapture={(event) => {
          if (event.key === 'Enter' && event.target instanceof HTMLInputElement) onEnter()
        }}
      >
        <FilterSheet active={active} onClear={onClear}>
          {children}
        </FilterSheet>
      </div>
    </div>
  )
}
