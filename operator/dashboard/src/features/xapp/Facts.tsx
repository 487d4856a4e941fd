/** Names, versions and times, each with its label. */

import type { ReactElement, ReactNode } from 'react'

import { classes } from '~/ui/classes'
import { CopyButton } from '~/ui/CopyButton'
import { MiddleText, Text } from '~/ui/Text'
import { Time } from '~/ui/Time'

import styles from './Facts.module.css'

export function Facts({ label, children }: { label?: string; children: ReactNode }): ReactElement {
  return (
    <dl aria-label={label} className={styles.facts}>
      {children}
    </dl>
  )
}

/** Returns a chart in one line; null if it is not known. */
export function chartText({
  chart,
  chartVersion,
}: {
  chart: string | null
  chartVersion: string | null
}): string | null {
  return chart === null ? null : `${chart} ${chartVersion ?? ''}`.trim()
}

interface FactProps {
  label: string
  value: string | null
  /** In as many lines as it takes. */
  isWhole?: boolean
  /** A text of sentences, over the whole width. */
  isLong?: boolean
}

export function Fact({ label, value, isWhole = false, isLong = false }: FactProps): ReactElement | null {
  if (value === null || value === '') return null
  return (
    <Entry label={label} isLong={isLong}>
      {isWhole || isLong ? <Text multiline={isLong}>{value}</Text> : <MiddleText>{value}</MiddleText>}
      <CopyButton text={value} label={`Copy ${label}`} />
    </Entry>
  )
}

export function TimeFact({ label, at }: { label: string; at: string | null }): ReactElement | null {
  if (at === null) return null
  return (
    <Entry label={label}>
      <Time at={at} show="both" />
    </Entry>
  )
}

interface EntryProps {
  label: string
  isLong?: boolean
  children: ReactNode
}

export function Entry({ label, isLong = false, children }: EntryProps): ReactElement {
  return (
    <div className={classes(styles.entry, isLong && styles.long)}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}
