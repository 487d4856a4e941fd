import type { ReactElement } from 'react'

import { useOpenXApp } from '~/features/xapp/openXApp'
import { longDurationText } from '~/lib/time'
import { progressSteps, stepTimes } from '~/lib/xapp/steps'
import { Steps } from '~/ui/Steps'
import { useNow } from '~/ui/useNow'

import styles from './ProgressLine.module.css'

/** The steps of the deployment, how long the current one takes already or took until it failed, and when it is given up. */
export function ProgressLine(): ReactElement | null {
  const { record, goneAt } = useOpenXApp()
  const steps = progressSteps(record)
  if (steps.length === 0 || (goneAt !== null && record.phase === 'Uninstalling')) return null
  return (
    <div className={styles.line}>
      <Steps steps={steps}>
        <Times />
      </Steps>
    </div>
  )
}

function Times(): ReactElement | null {
  const { record, goneAt } = useOpenXApp()
  const now = useNow(1000)
  const { elapsed, isOver, limit, nextTry } = stepTimes(record, goneAt?.getTime() ?? now)
  if (elapsed === null) return null
  const { attempt } = record.progress ?? { attempt: null }
  return (
    <span className={styles.times}>
      {isOver && 'failed after '}
      {longDurationText(elapsed)}
      {limit !== null && ` of ${longDurationText(limit)}`}
      {attempt !== null && attempt > 1 && `, try ${attempt}`}
      {nextTry !== null && `, next try in ${longDurationText(nextTry)}`}
    </span>
  )
}
