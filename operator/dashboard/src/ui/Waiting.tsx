import type { ReactElement } from 'react'

import { useElapsed } from '~/ui/useElapsed'

import styles from './Waiting.module.css'

const SHOWN_AFTER_SECONDS = 2
interface WaitingProps {
  /** For example "The gateway reads the chart". */
  what: string
  /** How far it is, for example "45 % of 1.0 MiB". */
  progress?: string
  isRunning?: boolean
  /** Seconds after which the gateway gives up, as far as that is known. */
  atMost?: number | undefined
}

/** What the page waits for, for how long, and how long at most: once it takes longer than a moment. */
export function Waiting({ what, progress, isRunning = true, atMost }: WaitingProps): ReactElement | null {
  const seconds = useElapsed(isRunning)
  if (seconds < SHOWN_AFTER_SECONDS) return null
  return (
    <span className={styles.waiting} role="status">
      {what}
      {/* Progress and seconds are not announced: they change too often. */}
      <span aria-hidden>
        {progress !== undefined && `, ${progress}`}
        {`: ${seconds} s`}
        {atMost !== undefined && ` of at most ${atMost} s`}
      </span>
    </span>
  )
}
