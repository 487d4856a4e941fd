import { useEffect, type ReactElement } from 'react'

import { connection, tryNow } from '~/api/connection'
import { useStore } from '~/lib/useStore'
import { clockText } from '~/lib/time'
import { Button } from '~/ui/Button'
import { Bar } from '~/ui/Notice'
import { useNow } from '~/ui/useNow'

import styles from './ConnectionBar.module.css'

/** Says that the gateway does not answer, since when, and when it is asked again. */
export function ConnectionBar(): ReactElement | null {
  const { state, lastAnswerAt, nextTryAt } = useStore(connection)
  useEffect(() => {
    // The browser knows that the network is back before the next try.
    window.addEventListener('online', tryNow)
    return () => window.removeEventListener('online', tryNow)
  }, [])
  if (state === 'online') return null
  return (
    <div className={styles.place}>
      <Bar
        tone="warn"
        actions={
          <Button size="small" onPress={tryNow} isPending={nextTryAt === null}>
            Now
          </Button>
        }
      >
        {state === 'starting' ? 'Starting: the gateway is not ready yet. ' : 'Not connected. '}
        {lastAnswerAt > 0 && `As of ${clockText(new Date(lastAnswerAt))}. `}
        {/* The seconds are not announced: they change too often. */}
        <span aria-hidden>{nextTryAt === null ? 'Trying' : <NextTry at={nextTryAt} />}</span>
      </Bar>
    </div>
  )
}

function NextTry({ at }: { at: number }): ReactElement {
  const seconds = Math.max(0, Math.ceil((at - useNow(500)) / 1000))
  return <>Trying again in {seconds} s</>
}
