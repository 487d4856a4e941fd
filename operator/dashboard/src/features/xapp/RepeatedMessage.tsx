import { useState, type ReactElement } from 'react'

import { Message } from '~/features/xapp/Message'
import { useCause } from '~/features/xapp/useCause'
import { Button } from '~/ui/Button'
import { Text } from '~/ui/Text'

import styles from './RepeatedMessage.module.css'

/** A longer message takes more than two lines where there is little room. */
const SHORT_CHARACTERS = 80

/** Returns whether a message below the cause is long, and the cause says it in full. */
function useIsRepeated(message: string | null): boolean {
  const { cause, waitsFor } = useCause()
  const above = cause?.message ?? waitsFor ?? ''
  return message !== null && (message.length > SHORT_CHARACTERS || message.includes('\n')) && above.includes(message)
}

/** A message below the cause: folded if it is long, and the cause says it in full. */
export function RepeatedMessage({ children: message }: { children: string | null }): ReactElement {
  const [isWhole, setWhole] = useState(false)
  if (!useIsRepeated(message)) return <Message>{message}</Message>
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

/** The same inside of a button, where no other can be: two lines of what the cause says in full. */
export function RepeatedText({ children: message }: { children: string }): ReactElement {
  return useIsRepeated(message) ? <Text lines={2}>{message}</Text> : <Text multiline>{message}</Text>
}
