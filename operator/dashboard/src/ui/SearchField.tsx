import { Search, X } from 'lucide-react'
import { useEffect, useRef, type ReactElement } from 'react'
import { Button as AriaButton, Input, SearchField as AriaSearchField } from 'react-aria-components'

import { unlessLeft } from '~/ui/unlessLeft'
import { useFilterText } from '~/ui/useFilterText'

import styles from './SearchField.module.css'

interface SearchFieldProps {
  label: string
  /** What is searched for, as the address has it. */
  value: string
  onChange: (value: string) => void
  onSubmit?: (value: string) => void
  placeholder?: string
}

const PAUSE_MILLISECONDS = 150

/**
 * A field for searching. Escape empties it. The key `/` focuses the first one of a page.
 *
 * Each key shows at once. `onChange` is called after a pause, and on Enter: a search may render a page and ask the server.
 */
export function SearchField(props: SearchFieldProps): ReactElement {
  const { label, value, onChange, onSubmit, placeholder = label } = props
  const { text, setText, apply } = useFilterText(value, onChange)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const latest = useRef(apply)
  useEffect(() => {
    latest.current = apply
  })
  useEffect(() => () => clearTimeout(timer.current), [])
  const change = (next: string, when: 'now' | 'later'): void => {
    clearTimeout(timer.current)
    setText(next)
    if (when === 'now') apply(next)
    // By then the text may be another one, such as after "Clear filters".
    else
      timer.current = setTimeout(
        unlessLeft(() => latest.current()),
        PAUSE_MILLISECONDS,
      )
  }
  return (
    <AriaSearchField
      value={text}
      onChange={(next) => change(next, next === '' ? 'now' : 'later')}
      onSubmit={(submitted) => {
        change(submitted, 'now')
        onSubmit?.(submitted)
      }}
      aria-label={label}
      className={styles.search}
    >
      <Search size={16} aria-hidden className={styles.icon} />
      <Input className={styles.input} placeholder={placeholder} data-search />
      <AriaButton className={styles.clear} aria-label="Clear the search">
        <X size={16} aria-hidden />
      </AriaButton>
    </AriaSearchField>
  )
}
