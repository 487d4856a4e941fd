import { Search, X } from 'lucide-react'
import { useEffect, useRef, useState, type ReactElement, type RefObject } from 'react'
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

const PAUSE_MILLISECONDS = 150

/**
 * A field for searching. Escape empties it. The key `/` focuses the first one of a page.
 *
 * Each key shows at once. `onChange` is called after a pause, and on Enter: a search may render a page and ask the server.
 */
export function SearchField({
  label,
  placeholder,
  inputRef,
  value,
  onChange,
  onSubmit,
  ...rest
}: SearchFieldProps): ReactElement {
  const [text, setText] = useTextSentLater(value, onChange)
  return (
    <AriaSearchField
      {...rest}
      value={text}
      onChange={(next) => setText(next, next === '' ? 'now' : 'later')}
      onSubmit={(submitted) => {
        setText(submitted, 'now')
        onSubmit?.(submitted)
      }}
      aria-label={label}
      className={styles.search}
    >
      <Search size={16} aria-hidden className={styles.icon} />
      <Input className={styles.input} placeholder={placeholder ?? label} data-search ref={inputRef} />
      <AriaButton className={styles.clear} aria-label="Clear the search">
        <X size={16} aria-hidden />
      </AriaButton>
    </AriaSearchField>
  )
}

/** Returns the text as typed, and how to set it. A value that changes elsewhere, such as by Back, replaces it. */
function useTextSentLater(
  value: string,
  onChange: (value: string) => void,
): [string, (text: string, when: 'now' | 'later') => void] {
  const [state, setState] = useState({ text: value, sent: value, seen: value })
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const latest = useRef(onChange)
  useEffect(() => {
    latest.current = onChange
  })
  useEffect(() => () => clearTimeout(timer.current), [])
  if (value !== state.seen) {
    // What was sent from here comes back as the value, while more may be typed already.
    setState(value === state.sent ? { ...state, seen: value } : { text: value, sent: value, seen: value })
  }
  const send = (text: string): void => {
    setState((current) => ({ ...current, sent: text }))
    latest.current(text)
  }
  const setText = (text: string, when: 'now' | 'later'): void => {
    clearTimeout(timer.current)
    setState((current) => ({ ...current, text }))
    if (when === 'now') send(text)
    else timer.current = setTimeout(() => send(text), PAUSE_MILLISECONDS)
  }
  return [state.text, setText]
}
