import type { ReactElement } from 'react'

import { Text } from '~/ui/Text'

import styles from './Word.module.css'

/** A word in a table that is not broken: a reason, a type. */
export function Word({ children }: { children: string }): ReactElement {
  return (
    <span className={styles.word}>
      <Text>{children}</Text>
    </span>
  )
}
