import { findNext, findPrevious, openSearchPanel, search, SearchQuery, setSearchQuery } from '@codemirror/search'
import { Compartment, EditorState, StateEffect, StateField, type Range } from '@codemirror/state'
import { Decoration, EditorView, type Command, type DecorationSet } from '@codemirror/view'
import { useEffect, useEffectEvent, useImperativeHandle, useState, type Ref } from 'react'

import { parseAnsi, type AnsiStyle } from '~/lib/ansi'

import styles from './editor.module.css'
import { logFollower } from './logFollower'
import { baseExtensions } from './setup'
import { useEditorView } from './useEditorView'

/** Of more changes of the colour in one line, the rest is shown without: each is an element of the page. */
const SPANS_PER_LINE_MAX = 200

export interface LogViewHandle {
  /** Adds lines at the end. Of all lines, the newest `kept` stay. */
  append: (lines: readonly string[], kept: number) => void
  /** Shows these lines instead of what is there. */
  replace: (lines: readonly string[]) => void
  /** The lines that are there, without colours. */
  text: () => string
  findNext: () => void
  findPrevious: () => void
}

export interface LogViewProps {
  label: string
  wrap: boolean
  /** Keeps the last line in view. Finding something ends it. */
  follow: boolean
  /** Called when a person scrolls away from the end, and back to it. */
  onFollowChange?: (follow: boolean) => void
  /** Marks where this text occurs. */
  find?: string
  ref?: Ref<LogViewHandle>
}

const addMarks = StateEffect.define<Range<Decoration>[]>()
const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, transaction) {
    let next = transaction.docChanged ? set.map(transaction.changes) : set
    for (const effect of transaction.effects) {
      if (effect.is(addMarks)) next = next.update({ add: effect.value })
    }
    return next
  },
  provide: (field) => EditorView.decorations.from(field),
})

const MARKS = new Map<string, Decoration>()
function markFor(ansi: readonly AnsiStyle[]): Decoration {
  const name = ansi.join(' ')
  const known = MARKS.get(name)
  if (known) return known
  const created = Decoration.mark({ class: ansi.map((style) => `cm-ansi-${style}`).join(' ') })
  MARKS.set(name, created)
  return created
}

const WRAPPING = EditorView.lineWrapping

export function LogView({ label, wrap, follow, onFollowChange, find = '', ref }: LogViewProps) {
  const [wrapping] = useState(() => new Compartment())
  const changeFollow = useEffectEvent((next: boolean) => onFollowChange?.(next))
  const { host, view } = useEditorView(null, () => [
    ...baseExtensions({ label, language: 'text' }),
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.contentAttributes.of({ tabindex: '0' }),
    marks,
    logFollower,
    search({ createPanel: () => ({ dom: document.createElement('div') }) }),
    wrapping.of(wrap ? WRAPPING : []),
  ])
  useEffect(() => {
    // CodeMirror marks matches while its panel is open. This one is empty: the field is in the page.
    if (view) openSearchPanel(view)
  }, [view])
  useEffect(() => {
    view?.dispatch({ effects: wrapping.reconfigure(wrap ? WRAPPING : []) })
  }, [view, wrapping, wrap])
  useEffect(() => {
    view?.dispatch({ effects: setSearchQuery.of(new SearchQuery({ search: find, literal: true })) })
    if (view && find !== '') showMatch(view, findNext)
  }, [view, find])
  useEffect(() => {
    const follower = view?.plugin(logFollower)
    if (follower) follower.onChange = (next) => changeFollow(next)
  }, [view])
  useEffect(() => {
    view?.plugin(logFollower)?.follow(follow)
  }, [view, follow])
  useImperativeHandle(
    ref,
    () => ({
      append: (lines, kept) => view && write(view, lines, kept),
      replace: (lines) => view && write(view, lines, null),
      text: () => view?.state.doc.toString() ?? '',
      findNext: () => view && showMatch(view, findNext),
      findPrevious: () => view && showMatch(view, findPrevious),
    }),
    [view],
  )
  return <div ref={host} role="log" aria-live="off" aria-label={label} className={styles.log} />
}

/** New lines do not scroll away what was found. */
function showMatch(view: EditorView, command: Command): void {
  if (command(view)) view.plugin(logFollower)?.leave()
}

/** `kept`: how many lines there are afterwards; null: these ones only. */
function write(view: EditorView, lines: readonly string[], kept: number | null): void {
  const { doc } = view.state
  if (lines.length === 0 && kept !== null) return
  const newest = kept === null ? lines : lines.slice(Math.max(lines.length - kept, 0))
  const keeps = kept !== null && doc.length > 0
  const excess = kept === null ? 0 : Math.max(doc.lines + newest.length - kept, 0)
  const to = keeps ? (excess >= doc.lines ? doc.length : excess > 0 ? doc.line(excess + 1).from : 0) : doc.length
  const before = doc.length - to
  let insert = before > 0 ? '\n' : ''
  const decorations: Range<Decoration>[] = []
  const parts: string[] = []
  let offset = before + insert.length
  for (const line of newest) {
    const { text, spans } = parseAnsi(line)
    for (const span of spans.slice(0, SPANS_PER_LINE_MAX)) {
      decorations.push(markFor(span.styles).range(offset + span.from, offset + span.to))
    }
    parts.push(text)
    offset += text.length + 1
  }
  insert += parts.join('\n')
  const changes =
    to > 0
      ? [
          { from: 0, to },
          { from: doc.length, insert },
        ]
      : { from: doc.length, insert }
  view.dispatch({ changes, effects: addMarks.of(decorations) })
  view.plugin(logFollower)?.toEnd()
}
