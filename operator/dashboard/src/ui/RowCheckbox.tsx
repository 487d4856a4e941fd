import type { KeyboardEvent, ReactElement } from 'react'

import styles from './RowCheckbox.module.css'

interface RowCheckboxProps {
  /** For screen readers. */
  label: string
  /** Beside the box: a part of `label`. */
  text?: string | undefined
  isSelected: boolean
  isIndeterminate?: boolean
  /** `isRange`: with Shift, which means all rows from the one before to this one. */
  onChange: (isRange: boolean) => void
  onKeyDown?: (event: KeyboardEvent<HTMLInputElement>) => void
}

/** A checkbox of a table. A native one: 100 of React Aria's cost most of the time that a page of rows takes. */
export function RowCheckbox({
  label,
  text,
  isSelected,
  isIndeterminate = false,
  onChange,
  onKeyDown,
}: RowCheckboxProps): ReactElement {
  return (
    <label className={styles.target}>
      <input
        type="checkbox"
        aria-label={label}
        className={styles.box}
        checked={isSelected}
        onChange={({ nativeEvent }) => onChange(nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)}
        onKeyDown={onKeyDown}
        ref={(input) => {
          if (input !== null) input.indeterminate = isIndeterminate
        }}
      />
      {text}
    </label>
  )
}
