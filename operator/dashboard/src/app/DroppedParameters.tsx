import { useLocation, useMatches } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { useState, type ReactElement } from 'react'

import { firstAddress } from '~/app/firstAddress'
import { parseQuery, readSearch } from '~/lib/searchParams'
import { IconButton } from '~/ui/Button'
import { Notice } from '~/ui/Notice'
import { Text } from '~/ui/Text'

import styles from './DroppedParameters.module.css'

/** A note about parameters of the address that the page cannot use. Links of ours have none. */
export function DroppedParameters(): ReactElement | null {
  const codec = useMatches().at(-1)?.staticData.searchCodec
  const pathname = useLocation({ select: (location) => location.pathname })
  const [isDismissed, setDismissed] = useState(false)
  if (isDismissed || pathname !== firstAddress.pathname) return null
  const { dropped } = readSearch(codec ?? {}, parseQuery(firstAddress.query))
  if (dropped.length === 0) return null
  return (
    <div className={styles.place}>
      <Notice
        tone="warn"
        isLive
        actions={
          <IconButton
            label="Dismiss"
            size="small"
            icon={<X size={16} aria-hidden />}
            onPress={() => setDismissed(true)}
          />
        }
      >
        Not used, because this page does not know it or its value is not possible: <Text>{dropped.join(', ')}</Text>
      </Notice>
    </div>
  )
}
