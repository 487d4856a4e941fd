import { useEffect, useRef, type FocusEvent, type RefObject } from 'react'

interface KeptFocus<E extends HTMLElement> {
  ref: RefObject<E | null>
  tabIndex: -1
  onFocus: () => void
  onBlur: (event: FocusEvent) => void
}

/**
 * Props of a box that takes the focus when the element in it that has the focus goes, such as a button that is replaced
 * by what it brought. Otherwise the document would have it, and the next Tab would begin at the top of the page.
 */
export function useKeptFocus<E extends HTMLElement>(): KeptFocus<E> {
  const ref = useRef<E>(null)
  const isInside = useRef(false)
  useEffect(() => {
    if (isInside.current && document.activeElement === document.body) ref.current?.focus()
  })
  return {
    ref,
    tabIndex: -1,
    onFocus: () => {
      isInside.current = true
    },
    onBlur: ({ target }) => {
      // The window of a file chooser takes the focus of the window: the element has it again afterwards.
      if (document.activeElement !== target) isInside.current = false
    },
  }
}
