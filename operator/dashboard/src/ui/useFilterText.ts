import { useState } from 'react'

interface FilterText {
  text: string
  setText: (text: string) => void
  /** Applies a text, or the one of the field. Does nothing if it is applied already. */
  apply: (text?: string) => void
}

/**
 * Returns the text of a filter whose applied value is in the address. The address follows with a delay, and without
 * blanks at the ends: the field shows what is typed, until a value comes that was not typed, as with Back or "Clear".
 */
export function useFilterText(
  applied: string,
  onApply: (text: string) => void,
  normalized: (text: string) => string = trimmed,
): FilterText {
  const [text, setText] = useState(applied)
  const [seen, setSeen] = useState(applied)
  /** What was typed here and is not in the address yet. */
  const [sent, setSent] = useState<readonly string[]>([])
  if (seen !== applied) {
    const at = sent.indexOf(applied)
    setSeen(applied)
    setSent(at < 0 ? [] : sent.slice(at + 1))
    if (at < 0) setText(applied)
  }
  const apply = (next = text): void => {
    const wanted = normalized(next)
    if (wanted === (sent.at(-1) ?? applied)) return
    setSent([...sent, wanted])
    onApply(wanted)
  }
  return { text, setText, apply }
}

function trimmed(text: string): string {
  return text.trim()
}
