import { MergeView, unifiedMergeView } from '@codemirror/merge'
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { useEffect, useRef } from 'react'

import styles from './editor.module.css'
import { readOnlyExtensions, type Language } from './setup'

export interface CompareViewProps {
  before: string
  after: string
  /** What the two texts are: "Revision 2", "Mine". */
  labels: readonly [string, string]
  language: Language
  /** Side by side where there is room. */
  layout?: 'side' | 'unified'
}

const COLLAPSE = { margin: 3, minSize: 6 }
const LIMITS = { scanLimit: 5_000, timeout: 500 }

/** Two texts with their differences marked. */
export function CompareView({ before, after, labels, language, layout = 'side' }: CompareViewProps) {
  const host = useRef<HTMLDivElement>(null)
  const [labelBefore, labelAfter] = labels
  useEffect(() => {
    const parent = host.current
    if (!parent) return undefined
    const text = (label: string): Extension[] => readOnlyExtensions({ label, language })
    if (layout === 'side') {
      const view = new MergeView({
        a: { doc: before, extensions: text(labelBefore) },
        b: { doc: after, extensions: text(labelAfter) },
        parent,
        collapseUnchanged: COLLAPSE,
        diffConfig: LIMITS,
      })
      return () => view.destroy()
    }
    const merged = unifiedMergeView({
      original: before,
      mergeControls: false,
      collapseUnchanged: COLLAPSE,
      diffConfig: LIMITS,
    })
    const state = EditorState.create({
      doc: after,
      extensions: [...text(`${labelAfter}, compared with ${labelBefore}`), merged],
    })
    const view = new EditorView({ parent, state })
    return () => view.destroy()
  }, [before, after, labelBefore, labelAfter, language, layout])
  return (
    <div className={styles.compare}>
      <div className={layout === 'side' ? styles.compareHeads : styles.compareLegend} aria-hidden>
        <span>{layout === 'side' ? labelBefore : `- ${labelBefore}`}</span>
        <span>{layout === 'side' ? labelAfter : `+ ${labelAfter}`}</span>
      </div>
      <div ref={host} className={styles.compareBody} />
    </div>
  )
}
