import { setDiagnostics, lintGutter, lintKeymap, type Diagnostic } from '@codemirror/lint'
import { EditorView, keymap } from '@codemirror/view'
import { Prec, StateEffect } from '@codemirror/state'
import { useEffect, useEffectEvent, useImperativeHandle, type Ref } from 'react'

import styles from './editor.module.css'
import { documentText } from './replaceText'
import { editingExtensions, type Language } from './setup'
import { useEditorView } from './useEditorView'

/** A problem of a text, marked at its place. */
export interface TextProblem {
  /** From 1. */
  line: number
  /** From 1. */
  column: number
  /** Offsets in the text. */
  from: number
  to: number
  severity: 'error' | 'warning'
  message: string
}

export interface TextEditorHandle {
  /** Puts the cursor at a line and column, both from 1, and the focus into the text. */
  goTo: (line: number, column?: number) => void
  focus: () => void
}

export interface TextEditorProps {
  label: string
  value: string
  language: Language
  onChange: (value: string) => void
  problems?: readonly TextProblem[]
  /** What Ctrl+Enter does here. */
  onSubmit?: () => void
  onBlur?: () => void
  describedBy?: string
  /** Takes a file that is dropped on the text. CodeMirror would insert it, whatever its encoding is. */
  onFile: (file: File) => void
  height?: 'normal' | 'tall'
  ref?: Ref<TextEditorHandle>
}

export function TextEditor(props: TextEditorProps) {
  const {
    label,
    value,
    language,
    onChange,
    problems = [],
    onSubmit,
    onBlur,
    describedBy,
    onFile,
    height = 'normal',
    ref,
  } = props
  const changed = useEffectEvent((text: string) => {
    if (text !== documentText(value)) onChange(text)
  })
  const submitted = useEffectEvent(() => onSubmit?.())
  const left = useEffectEvent(() => onBlur?.())
  const dropped = useEffectEvent((file: File) => onFile(file))
  const { host, view } = useEditorView(value, () => [
    keymap.of(lintKeymap),
    lintGutter(),
    ...editingExtensions({ label, language, describedBy }),
  ])
  useEffect(() => {
    const submit = (): boolean => {
      submitted()
      return true
    }
    const listeners = [
      Prec.highest(keymap.of([{ key: 'Mod-Enter', run: submit }])),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) changed(update.state.doc.toString())
      }),
      Prec.highest(
        EditorView.domEventHandlers({
          blur: () => left(),
          drop: ({ dataTransfer }) => {
            const file = dataTransfer?.files[0]
            if (file !== undefined) dropped(file)
            return file !== undefined
          },
        }),
      ),
    ]
    view?.dispatch({ effects: StateEffect.appendConfig.of(listeners) })
  }, [view])
  useEffect(() => {
    if (!view) return
    const { length } = view.state.doc
    const marks = problems.map(({ from, to, severity, message }): Diagnostic => ({
      from: Math.min(from, length),
      to: Math.min(Math.max(to, from), length),
      severity,
      message,
    }))
    view.dispatch(setDiagnostics(view.state, marks))
  }, [view, problems])
  useImperativeHandle(
    ref,
    () => ({
      goTo: (line, column = 1) => {
        if (!view) return
        const at = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines))
        const anchor = Math.min(at.from + column - 1, at.to)
        view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) })
        view.focus()
      },
      focus: () => view?.focus(),
    }),
    [view],
  )
  return (
    <div
      ref={host}
      className={height === 'tall' ? styles.tall : styles.editor}
      data-invalid={problems.some(({ severity }) => severity === 'error') || undefined}
    />
  )
}
