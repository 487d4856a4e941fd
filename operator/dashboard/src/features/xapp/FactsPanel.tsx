import type { ReactElement, ReactNode } from 'react'

import { useOpenXApp } from '~/features/xapp/openXApp'
import { CopyButton } from '~/ui/CopyButton'
import { Card } from '~/ui/Panel'
import { MiddleText, Text } from '~/ui/Text'
import { Time } from '~/ui/Time'

import styles from './FactsPanel.module.css'

/** What the xApp is: names, versions, times. */
export function FactsPanel(): ReactElement {
  const { record } = useOpenXApp()
  const { release, chart } = record
  const chartInForce = release.chart === null ? null : `${release.chart} ${release.chartVersion ?? ''}`.trim()
  return (
    <Card title="Facts">
      <dl className={styles.facts}>
        <Fact label="Name" value={record.name} />
        <Fact label="xAppName" value={record.xAppName} />
        <Fact label="Version" value={record.version} />
        <Fact label="Organization" value={record.organization} />
        <Fact label="Team" value={record.team} />
        <Fact label="Owner" value={record.owner} isWhole />
        <Fact label="Namespace" value={record.namespace} />
        <Fact label="Method" value={record.method} />
        <Fact label="Release" value={release.name} />
        <Fact label="Revision" value={release.revision === null ? null : String(release.revision)} />
        <Fact label="Chart in force" value={chartInForce} />
        <Fact label="App version" value={release.appVersion} />
        <Fact label="Chart asked for" value={[chart.name, chart.version].filter((part) => part !== null).join(' ')} />
        <Fact label="Repository" value={chart.repoName} />
        <Fact label="Address of the chart" value={chart.url} />
        <TimeFact label="Deployed" at={release.lastDeployed} />
        <TimeFact label="Created" at={record.createdAt} />
        <TimeFact label="Updated" at={record.updatedAt} />
        <Fact label="UID" value={record.uid} />
      </dl>
    </Card>
  )
}

interface FactProps {
  label: string
  value: string | null
  /** In as many lines as it takes. */
  isWhole?: boolean
}

function Fact({ label, value, isWhole = false }: FactProps): ReactElement | null {
  if (value === null || value === '') return null
  return (
    <Entry label={label}>
      {isWhole ? <Text>{value}</Text> : <MiddleText>{value}</MiddleText>}
      <CopyButton text={value} label={`Copy ${label}`} />
    </Entry>
  )
}

function TimeFact({ label, at }: { label: string; at: string | null }): ReactElement | null {
  if (at === null) return null
  return (
    <Entry label={label}>
      <Time at={at} show="both" />
    </Entry>
  )
}

function Entry({ label, children }: { label: string; children: ReactNode }): ReactElement {
  return (
    <div className={styles.entry}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}
