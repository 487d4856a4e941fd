import type { ReactElement } from 'react'

import { classes } from '~/ui/classes'
import { CopyButton } from '~/ui/CopyButton'
import { Text } from '~/ui/Text'

import styles from './Code.module.css'

interface CodeProps {
  children: string
  /** What it is, for screen readers and the copy button, for example "the values". */
  label: string
  wraps?: boolean
}

/** A short text in a fixed-width font, with a button that copies it. For long texts use the editor. */
export function Code({ children, label, wraps = false }: CodeProps): ReactElement {
  return (
    <div className={styles.code}>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, and the keyboard must reach it */}
      <pre className={classes(styles.pre, wraps && styles.wraps)} tabIndex={0} role="region" aria-label={label}>
        <Text multiline>{children}</Text>
      </pre>
      <div className={styles.copy}>
        <CopyButton text={children} label={`Copy ${label}`} />
      </div>
    </div>
  )
}
