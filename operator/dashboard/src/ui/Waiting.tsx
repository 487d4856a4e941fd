import type { ReactElement } from 'react'

import { useElapsed } from '~/ui/useElapsed'

import styles from './Waiting.module.css'

const SHOWN_AFTER_SECONDS = 2
interface WaitingProps {
  /** For example "The gateway reads the chart". */
  what: string
  isRunning?: boolean
  /** Seconds after which the gateway gives up, as far as that is known. */
  atMost?: number | undefined
}

/** What the page waits for, for how long, and how long at most: once it takes longer than a moment. */
export function Waiting({ what, isRunning = true, atMost }: WaitingProps): ReactElement | null {
  const seconds = useElapsed(isRunning)
  if (seconds < SHOWN_AFTER_SECONDS) return null
  return (
    <span className={styles.waiting} role="status">
      {what}
      {/* The seconds are not announced: they change too often. */}
      <span aria-hidden>{atMost === undefined ? `: ${seconds} s` : `: ${seconds} s of at most ${atMost} s`}</span>
    </span>
  )
}
