import { useState, type ReactElement } from 'react'

import { Message } from '~/features/xapp/Message'
import { useCause } from '~/features/xapp/useCause'
import { Button } from '~/ui/Button'

import styles from './RepeatedMessage.module.css'

/** A longer message takes more than two lines where there is little room. */
const SHORT_CHARACTERS = 80

/** A message below the cause: folded if it is long, and the cause says it in full. */
export function RepeatedMessage({ children: message }: { children: string | null }): ReactElement {
  const { cause, waitsFor } = useCause()
  const [isWhole, setWhole] = useState(false)
  const above = cause?.message ?? waitsFor ?? ''
  const isLong = message !== null && (message.length > SHORT_CHARACTERS || message.includes('\n'))
  if (!isLong || !above.includes(message)) return <Message>{message}</Message>
  return (
    <div className={styles.folded}>
      {isWhole ? <Message>{message}</Message> : <Message lines={2}>{message}</Message>}
      <Button
        size="small"
        variant="quiet"
        className={styles.more}
        aria-expanded={isWhole}
        onPress={() => setWhole(!isWhole)}
      >
        {isWhole ? 'Show less' : 'Show all'}
      </Button>
    </div>
  )
}
