import { useMemo } from 'react'

import { visibleText } from '~/lib/visibleText'
import { parseUnifiedDiff, type DiffLine, type ObjectDiff } from '~/lib/unifiedDiff'

import styles from './editor.module.css'

const SIGNS: Record<DiffLine['kind'], string> = { in: '+', out: '−', same: ' ', hunk: '' }
const WORDS: Record<ObjectDiff['change'], string> = { create: 'new', change: 'changes', remove: 'goes' }
const LINE_WORDS: Record<DiffLine['kind'], string | null> = { in: 'added: ', out: 'removed: ', same: null, hunk: null }

/** Beyond this, an object is closed until a person opens it, and shows so many lines. */
const OPEN_LINES_MAX = 400
const LINES_MAX = 4_000

export interface DiffViewProps {
  /** A unified diff of the API. */
  diff: string
  /** What is compared, for assistive technology. */
  label: string
  /** What to say if nothing differs. */
  empty?: string
}

/** A unified diff, object by object. */
export function DiffView({ diff, label, empty = 'Nothing changes.' }: DiffViewProps) {
  const objects = useMemo(() => parseUnifiedDiff(diff), [diff])
  if (objects.length === 0) return <p className={styles.empty}>{empty}</p>
  return (
    <section aria-label={label} className={styles.diff}>
      {objects.map((object, index) => (
        // A diff can name an object twice; the order is that of the answer.
        <ObjectDiffView key={`${index} ${object.name}`} object={object} />
      ))}
    </section>
  )
}

function ObjectDiffView({ object }: { object: ObjectDiff }) {
  const { name, change, lines } = object
  const shown = lines.slice(0, LINES_MAX)
  return (
    <details open={lines.length <= OPEN_LINES_MAX} className={styles.object}>
      <summary>
        <bdi>{visibleText(name)}</bdi> <span className={styles[change]}>{WORDS[change]}</span>
      </summary>
      {/* A region that scrolls sideways needs the focus, so that the keyboard can scroll it. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className={styles.lines} role="group" aria-label={`Lines of ${name}`} tabIndex={0}>
        {shown.map((line, index) => (
          <div key={index} className={styles[line.kind]}>
            <span aria-hidden className={styles.sign}>
              {SIGNS[line.kind]}
            </span>
            {LINE_WORDS[line.kind] !== null && <span className={styles.spoken}>{LINE_WORDS[line.kind]}</span>}
            <span>{visibleText(line.text)}</span>
          </div>
        ))}
        {lines.length > shown.length && <div className={styles.hunk}>{lines.length - shown.length} more lines</div>}
      </div>
    </details>
  )
}
