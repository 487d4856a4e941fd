import { Check, CircleX, LoaderCircle, Minus } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'

import { classes } from '~/ui/classes'

import styles from './Steps.module.css'

export interface Step {
  id: string
  label: ReactNode
  state: 'done' | 'current' | 'failed' | 'waiting'
}

const WORDS = { done: 'done', current: 'in progress', failed: 'failed', waiting: 'waiting' } as const
const ICONS = { done: Check, current: LoaderCircle, failed: CircleX, waiting: Minus } as const

/** The steps of something that takes time, and what stands beside them: elapsed time and limit. */
export function Steps({ steps, children }: { steps: readonly Step[]; children?: ReactNode }): ReactElement {
  return (
    <div className={styles.line}>
      <ol className={styles.steps}>
        {steps.map(({ id, label, state }) => {
          const Icon = ICONS[state]
          return (
            <li
              key={id}
              className={classes(styles.step, styles[state])}
              aria-current={state === 'current' ? 'step' : undefined}
            >
              <Icon size={16} aria-label={WORDS[state]} />
              <span>{label}</span>
            </li>
          )
        })}
      </ol>
      {children !== undefined && <div className={styles.aside}>{children}</div>}
    </div>
  )
}
