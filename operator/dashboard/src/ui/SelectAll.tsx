import type { ReactElement } from 'react'

import { RowCheckbox } from '~/ui/RowCheckbox'

export interface Selection {
  selected: ReadonlySet<string>
  onChange: (selected: ReadonlySet<string>) => void
}

interface SelectAllProps {
  /** The rows of the page. */
  keys: readonly string[]
  selection: Selection
  /** Beside the checkbox. */
  text?: string
}

/** The checkbox that selects or deselects all rows of a page. */
export function SelectAll({ keys, selection, text }: SelectAllProps): ReactElement {
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
      text={text}
      isSelected={isAll}
      isIndeterminate={count > 0 && !isAll}
      onChange={change}
    />
  )
}
