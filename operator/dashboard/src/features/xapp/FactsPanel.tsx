import type { ReactElement } from 'react'

import { chartText, Fact, Facts, TimeFact } from '~/features/xapp/Facts'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { Card } from '~/ui/Panel'

/** What the xApp is: names, versions, times. */
export function FactsPanel(): ReactElement {
  const { record } = useOpenXApp()
  const { release, chart } = record
  return (
    <Card title="Facts">
      <Facts>
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
        <Fact label="Chart in force" value={chartText(release)} />
        <Fact label="App version" value={release.appVersion} />
        <Fact label="Chart asked for" value={[chart.name, chart.version].filter((part) => part !== null).join(' ')} />
        <Fact label="Repository" value={chart.repoName} />
        <Fact label="Address of the chart" value={chart.url} />
        <TimeFact label="Deployed" at={release.lastDeployed} />
        <TimeFact label="Created" at={record.createdAt} />
        <TimeFact label="Updated" at={record.updatedAt} />
        <Fact label="UID" value={record.uid} />
      </Facts>
    </Card>
  )
}
