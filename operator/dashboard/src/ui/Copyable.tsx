import type { ReactElement, ReactNode } from 'react'

import { classes } from '~/ui/classes'
import { CopyButton } from '~/ui/CopyButton'

import styles from './Copyable.module.css'

interface CopyableProps {
  text: string
  /** What is copied, for example "Copy the message". */
  label: string
  /** How the text is shown. */
  children: ReactNode
  /** Among other things in a line: the button has room of its own there. Else it covers the end of a long text. */
  isInLine?: boolean
}

/**
 * A text with a button that copies it. A mouse shows the button when it is over the text, the keyboard with the focus;
 * the line is neither wider nor higher for it. Fingers, and narrow pages, always have it.
 */
export function Copyable({ text, label, children, isInLine = false }: CopyableProps): ReactElement {
  return (
    <span className={classes(styles.copyable, isInLine && styles.inLine)}>
      <span className={styles.text}>{children}</span>
      <span className={styles.place}>
        <CopyButton text={text} label={label} />
      </span>
    </span>
  )
}
