import type { ReactElement } from 'react'

import { UPLOAD_SECONDS, uploading } from '~/api/uploads'
import { useStore } from '~/lib/useStore'
import { Waiting } from '~/ui/Waiting'

import { sizeText } from './sizeText'

interface UploadWaitingProps {
  /** What the gateway does once it has all, for example "The gateway reads the chart". */
  what: string
  isRunning: boolean
  /** Seconds that it takes at most. */
  atMost?: number | undefined
}

/** What an upload waits for: first until it is sent, and how much of it is, then what the gateway does with it. */
export function UploadWaiting({ what, isRunning, atMost }: UploadWaitingProps): ReactElement {
  const progress = useStore(uploading)
  if (!isRunning || progress === null)
    return <Waiting key="reading" what={what} isRunning={isRunning} atMost={atMost} />
  const percent = Math.floor((100 * progress.sent) / Math.max(progress.total, 1))
  return (
    <Waiting
      key="sending"
      what="Sending to the gateway"
      progress={`${percent} % of ${sizeText(progress.total)}`}
      atMost={UPLOAD_SECONDS}
    />
  )
}
