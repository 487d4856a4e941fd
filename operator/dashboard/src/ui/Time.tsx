import { useState, type ReactElement } from 'react'

import { absoluteText, clockText, durationStep, durationText, longDurationText, parseTime } from '~/lib/time'
import { useNow } from '~/ui/useNow'

import styles from './Time.module.css'

interface TimeProps {
  /** RFC 3339, or null. */
  at: string | null | undefined
  /** "5 d" with the time as tooltip (default), the time with "5 d ago" as tooltip, or both. */
  show?: 'age' | 'time' | 'both'
}

export function Time({ at, show = 'age' }: TimeProps): ReactElement {
  const date = parseTime(at)
  if (date === null) return <span>-</span>
  return <KnownTime date={date} show={show} />
}

function KnownTime({ date, show }: { date: Date; show: 'age' | 'time' | 'both' }): ReactElement {
  const [step, setStep] = useState(() => durationStep(Math.abs(Date.now() - date.getTime()) / 1000))
  const seconds = (useNow(step) - date.getTime()) / 1000
  // Fewer renders for what changes rarely.
  const wanted = durationStep(Math.abs(seconds))
  if (wanted !== step) setStep(wanted)
  const age = durationText(seconds)
  const absolute = absoluteText(date)
  const words = seconds < 0 ? `in ${durationText(-seconds)}` : `${age} ago`
  if (show === 'age') {
    return (
      <time dateTime={date.toISOString()} title={`${absolute}, ${words}`} className={styles.time}>
        {age}
      </time>
    )
  }
  return (
    <time dateTime={date.toISOString()} title={words}>
      <span className={styles.time}>{show === 'both' ? `${absolute},` : absolute}</span>
      {show === 'both' && ' '}
      {show === 'both' && <span className={styles.time}>{words}</span>}
    </time>
  )
}

/** How long something takes, for example "2 min 10 s". */
export function Duration({ seconds }: { seconds: number }): ReactElement {
  return <span className={styles.time}>{longDurationText(seconds)}</span>
}

const STALE_SECONDS = 30

/** "as of 14:03:12" once data is older than 30 seconds. `at`: milliseconds since 1970. */
export function AsOf({ at }: { at: number }): ReactElement | null {
  const now = useNow(5000)
  if (at === 0 || (now - at) / 1000 <= STALE_SECONDS) return null
  return <span className={styles.asOf}>as of {clockText(new Date(at))}</span>
}
