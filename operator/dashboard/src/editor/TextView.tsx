import { EditorView, gutter, GutterMarker } from '@codemirror/view'
import { Compartment, type Extension } from '@codemirror/state'
import { useEffect, useState } from 'react'

import styles from './editor.module.css'
import { readOnlyExtensions, type Language } from './setup'
import { useEditorView } from './useEditorView'

/** A word beside a line, such as where its value comes from. */
export interface LineNote {
  /** From 1. */
  line: number
  text: string
  /** Notes of lines that a person wrote stand out. */
  tone: 'quiet' | 'strong'
}

export interface TextViewProps {
  label: string
  text: string
  language: Language
  notes?: readonly LineNote[]
  /** Scrolls to this line, from 1. */
  line?: number
  /** `fit`: as high as the text, up to most of the window. */
  height?: 'fit' | 'tall'
}

class NoteMarker extends GutterMarker {
  readonly note: LineNote

  constructor(note: LineNote) {
    super()
    this.note = note
  }

  override eq(other: NoteMarker): boolean {
    return other.note.text === this.note.text && other.note.tone === this.note.tone
  }

  override toDOM(): Node {
    const element = document.createElement('span')
    element.className = (this.note.tone === 'strong' ? styles.noteStrong : styles.note) ?? ''
    element.textContent = this.note.text
    element.title = this.note.text
    return element
  }
}

function notesGutter(notes: readonly LineNote[]): Extension {
  if (notes.length === 0) return []
  const byLine = new Map(notes.map((note) => [note.line, new NoteMarker(note)]))
  return gutter({
    class: styles.notes ?? '',
    lineMarker: (view, line) => byLine.get(view.state.doc.lineAt(line.from).number) ?? null,
    initialSpacer: () => new NoteMarker({ line: 1, text: 'ConfigMap', tone: 'quiet' }),
  })
}

/** A text to read, with the colours of its language. */
export function TextView({ label, text, language, notes = [], line, height = 'fit' }: TextViewProps) {
  const [gutters] = useState(() => new Compartment())
  const { host, view } = useEditorView(text, () => [
    gutters.of(notesGutter(notes)),
    ...readOnlyExtensions({ label, language }),
    // Only code scrolls sideways.
    language === 'text' ? EditorView.lineWrapping : [],
  ])
  useEffect(() => {
    view?.dispatch({ effects: gutters.reconfigure(notesGutter(notes)) })
  }, [view, gutters, notes])
  useEffect(() => {
    if (!view || line === undefined) return
    const at = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines))
    view.dispatch({ selection: { anchor: at.from }, effects: EditorView.scrollIntoView(at.from, { y: 'start' }) })
  }, [view, line, text])
  return <div ref={host} className={height === 'tall' ? styles.tall : styles.fit} />
}
