import type { ReactElement } from 'react'

import { Text } from '~/ui/Text'

import styles from './FoldedText.module.css'

interface FoldedTextProps {
  /** Those that are null or empty are left out. */
  parts: readonly (string | null)[]
  lines?: 1
}

/** What the columns with `fold` say, for the first cell of a row: shown where these columns are left out. */
export function FoldedText({ parts, lines }: FoldedTextProps): ReactElement {
  const text = parts.filter((part) => part !== null && part !== '').join(', ')
  return (
    <span className={styles.folded}>
      <Text lines={lines}>{text}</Text>
    </span>
  )
}
