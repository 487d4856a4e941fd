import { Search, X } from 'lucide-react'
import type { ReactElement, RefObject } from 'react'
import { Button as AriaButton, Input, SearchField as AriaSearchField } from 'react-aria-components'

import styles from './SearchField.module.css'

interface SearchFieldProps {
  label: string
  value: string
  onChange: (value: string) => void
  onSubmit?: (value: string) => void
  placeholder?: string
  autoFocus?: boolean
  inputRef?: RefObject<HTMLInputElement | null>
}

/** A field for searching. Escape empties it. The key `/` focuses the first one of a page. */
export function SearchField({ label, placeholder, inputRef, ...rest }: SearchFieldProps): ReactElement {
  return (
    <AriaSearchField {...rest} aria-label={label} className={styles.search}>
      <Search size={16} aria-hidden className={styles.icon} />
      <Input className={styles.input} placeholder={placeholder ?? label} data-search ref={inputRef} />
      <AriaButton className={styles.clear} aria-label="Clear the search">
        <X size={16} aria-hidden />
      </AriaButton>
    </AriaSearchField>
  )
}
