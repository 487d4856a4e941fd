import type { ReactElement } from 'react'

import { classes } from '~/ui/classes'
import { useDelayed } from '~/ui/useDelayed'
import { Waiting } from '~/ui/Waiting'

import styles from './Skeleton.module.css'

const DELAY_MILLISECONDS = 150

interface SkeletonProps {
  lines?: number
  label?: string
  /** What is said once it takes longer than a moment, for example "The gateway reads the chart". */
  waitsFor?: string | undefined
  /** How many seconds that takes at most. */
  waitsAtMost?: number | undefined
  /** False while nothing is asked, such as without a connection. */
  isWaiting?: boolean
}

/** Grey lines in place of content that is on its way; nothing for the first 150 ms, but the room is taken. */
export function Skeleton({
  lines = 3,
  label = 'Loading',
  waitsFor = 'Waiting for the gateway',
  waitsAtMost,
  isWaiting = true,
}: SkeletonProps): ReactElement {
  const isVisible = useDelayed(true, DELAY_MILLISECONDS)
  return (
    <div className={styles.place}>
      <div className={classes(styles.skeleton, !isVisible && styles.early)} role="status" aria-label={label}>
        {Array.from({ length: lines }, (_, index) => (
          <div key={index} className={styles.line} />
        ))}
      </div>
      {/* Over the last line: nothing below moves when it appears. */}
      <div className={styles.waits}>
        <Waiting what={waitsFor} isRunning={isWaiting} atMost={waitsAtMost} />
      </div>
    </div>
  )
}
