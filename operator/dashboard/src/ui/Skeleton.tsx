import type { ReactElement } from 'react'

import { classes } from '~/ui/classes'
import { useDelayed } from '~/ui/useDelayed'

import styles from './Skeleton.module.css'

const DELAY_MILLISECONDS = 150

/** Grey lines in place of content that is on its way; nothing for the first 150 ms, but the room is taken. */
export function Skeleton({ lines = 3, label = 'Loading' }: { lines?: number; label?: string }): ReactElement {
  const isVisible = useDelayed(true, DELAY_MILLISECONDS)
  return (
    <div className={classes(styles.skeleton, !isVisible && styles.early)} role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} className={styles.line} />
      ))}
    </div>
  )
}
