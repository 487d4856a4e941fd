import { CircleX, TriangleAlert } from 'lucide-react'

import type { MarkedProblem } from '~/lib/values/checkValues'
import { Text } from '~/ui/Text'

import styles from './deploy.module.css'

interface ProblemListProps {
  id: string
  problems: readonly MarkedProblem[]
  /** Why the schema was not applied. */
  unchecked: string | null
  onSelect: (problem: MarkedProblem) => void
}

const SHOWN_MAX = 50

/** What is wrong with the values, each with a way to its line. */
export function ProblemList({ id, problems, unchecked, onSelect }: ProblemListProps) {
  const shown = problems.toSorted((one, other) => one.line - other.line).slice(0, SHOWN_MAX)
  return (
    <div id={id} aria-live="polite">
      {shown.length > 0 && (
        <ul className={styles.problems}>
          {shown.map((problem, index) => (
            <li key={index}>
              <button type="button" className={styles.problem} onClick={() => onSelect(problem)}>
                {problem.severity === 'error' ? (
                  <CircleX size={16} className={styles.bad} aria-label="Error" />
                ) : (
                  <TriangleAlert size={16} className={styles.warn} aria-label="Warning" />
                )}
                <span className={styles.line}>{`line ${problem.line}`}</span>
                <Text>{problem.message}</Text>
              </button>
            </li>
          ))}
        </ul>
      )}
      {problems.length > shown.length && <p className={styles.muted}>{`${problems.length - shown.length} more`}</p>}
      {unchecked !== null && <p className={styles.muted}>{unchecked}</p>}
    </div>
  )
}
