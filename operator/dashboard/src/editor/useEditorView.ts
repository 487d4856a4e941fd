import { EditorState, type Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { useEffect, useEffectEvent, useRef, useState, type RefObject } from 'react'

import { changeTo } from './replaceText'

interface Mounted {
  host: RefObject<HTMLDivElement | null>
  /** Null until the element is in the page. */
  view: EditorView | null
}

/**
 * Keeps one editor in an element, with `text` as its document; null: its owner writes into it.
 *
 * `extensions` is called once; what changes later goes through compartments.
 */
export function useEditorView(text: string | null, extensions: () => Extension[]): Mounted {
  const host = useRef<HTMLDivElement>(null)
  const [view, setView] = useState<EditorView | null>(null)
  const create = useEffectEvent(
    (parent: HTMLElement) =>
      new EditorView({ parent, state: EditorState.create({ doc: text ?? '', extensions: extensions() }) }),
  )
  useEffect(() => {
    if (host.current === null) return undefined
    const created = create(host.current)
    setView(created)
    return () => {
      created.destroy()
      setView(null)
    }
  }, [])
  useEffect(() => {
    if (view === null || text === null) return
    const changes = changeTo(view.state.doc, text)
    if (changes) view.dispatch({ changes })
  }, [view, text])
  return { host, view }
}
