import type { ReactElement } from 'react'

import { Copyable } from '~/ui/Copyable'
import { Text } from '~/ui/Text'

/** A message of the operator, an object or an event, with a button that copies it. */
export function Message({ children, lines }: { children: string | null; lines?: 2 }): ReactElement {
  if (children === null || children === '') return <span>-</span>
  return (
    <Copyable text={children} label="Copy the message">
      <Text lines={lines} multiline={lines === undefined}>
        {children}
      </Text>
    </Copyable>
  )
}
