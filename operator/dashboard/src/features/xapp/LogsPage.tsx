import { getRouteApi } from '@tanstack/react-router'
import { useState, type ReactElement } from 'react'

import type { LogOf } from '~/api/queries/xappDetails'
import type { Schemas } from '~/api/client'
import { TAIL, chosenLog, defaultContainer, defaultLog } from '~/features/xapp/logChoice'
import { LogPane } from '~/features/xapp/LogPane'
import { NotVisible } from '~/features/xapp/NotVisible'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { useHealth } from '~/features/xapp/useHealth'
import { useEnded } from '~/features/xapp/useEnded'
import { refused } from '~/lib/rights'
import { buildHealthTree } from '~/lib/xapp/healthTree'
import { Button } from '~/ui/Button'
import { Checkbox } from '~/ui/Choices'
import { EmptyState } from '~/ui/EmptyState'
import { Notice } from '~/ui/Notice'
import { QueryContent } from '~/ui/Panel'
import { Select, type Item } from '~/ui/Select'
import { MiddleText, Text } from '~/ui/Text'

import styles from './LogsPage.module.css'

const route = getRouteApi('/xapps/$namespace/$name/logs')

/** The log of one container, live. */
export function LogsPage(): ReactElement {
  const { id, see } = useOpenXApp()
  const ended = useEnded()
  const health = useHealth()
  const right = see('logs')
  if (!right.allowed) {
    return <NotVisible right={right} />
  }
  return (
    <QueryContent query={health} ended={ended} skeletonLines={8}>
      {(report) =>
        report.podsTotal === null ? (
          <NotVisible right={refused(`Needs: list pods in ${id.namespace}`)} />
        ) : (
          <Logs report={report} />
        )
      }
    </QueryContent>
  )
}

function Logs({ report }: { report: Schemas['HealthReport'] }): ReactElement {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { pods } = report
  // What the page has begun with stays, also when another container is at fault later.
  const [first, setFirst] = useState(() => defaultLog(pods))
  if (first === null && pods.length > 0) setFirst(defaultLog(pods))
  const log = chosenLog(search, pods, first)
  if (log === null) {
    return <EmptyState title="No pod yet">The log appears here as soon as a pod of this xApp exists.</EmptyState>
  }
  const choose = (next: Partial<LogOf>): void =>
    void navigate({ search: (current) => ({ ...current, ...log, ...next }), replace: true })
  const choosePod = (name: string): void => {
    const pod = pods.find((each) => each.name === name)
    choose({ pod: name, container: pod === undefined ? '' : defaultContainer(pod), previous: false })
  }
  const pod = pods.find(({ name }) => name === log.pod)
  const containers = pod?.containers ?? []
  // Where not all pods are told, it may be one of the others.
  const isPodGone = pod === undefined && report.podsTotal === pods.length
  return (
    <div className={styles.page}>
      <div className={styles.choices}>
        <Select label="Pod" size="small" value={log.pod} items={podItems(report, log.pod)} onChange={choosePod} />
        <Select
          label="Container"
          size="small"
          value={log.container}
          items={withChosen(
            containers.map(({ name, init }) => ({ id: name, label: name, ...(init ? { description: 'init' } : {}) })),
            log.container,
          )}
          onChange={(container) => choose({ container })}
        />
        <Select
          label="Since"
          size="small"
          value={search.since === '' ? 'all' : search.since}
          items={withChosen(SINCE, search.since === '' ? 'all' : search.since)}
          onChange={(since) =>
            void navigate({ search: (current) => ({ ...current, since: since === 'all' ? '' : since }), replace: true })
          }
        />
        <Checkbox label="Previous run" isSelected={log.previous} onChange={(previous) => choose({ previous })} />
        {report.podsTotal !== null && report.podsTotal > pods.length && (
          <span className={styles.remark}>
            {pods.length} of {report.podsTotal} pods
          </span>
        )}
      </div>
      {isPodGone && <GonePod name={log.pod} next={defaultLog(pods)} onNext={choose} />}
      <LogPane key={JSON.stringify([log, search.since])} log={log} since={search.since} isPodGone={isPodGone} />
    </div>
  )
}

interface GonePodProps {
  name: string
  /** The log to read instead; null if there is no pod. */
  next: LogOf | null
  onNext: (log: LogOf) => void
}

/** An upgrade replaces pods, and an address may name one from before it. */
function GonePod({ name, next, onNext }: GonePodProps): ReactElement {
  return (
    <Notice
      isLive
      title={
        <>
          Pod <Text>{name}</Text> is gone
        </>
      }
      actions={
        next !== null && (
          <Button size="small" onPress={() => onNext(next)}>
            Show the log of <MiddleText>{next.pod}</MiddleText>
          </Button>
        )
      }
    >
      Nothing is added to its log any more.
    </Notice>
  )
}

const SINCE: readonly Item[] = [
  { id: 'all', label: `The last ${TAIL.toLocaleString('en-US')} lines` },
  { id: '5m', label: '5 minutes' },
  { id: '30m', label: '30 minutes' },
  { id: '2h', label: '2 hours' },
  { id: '24h', label: '24 hours' },
]

function podItems({ resources, pods }: Schemas['HealthReport'], chosen: string): Item[] {
  const nodes = buildHealthTree({ resources, pods }).flatMap((node) => node.pods)
  const statuses = new Map(nodes.map(({ key, status }) => [key, status]))
  return withChosen(
    pods.map(({ name }) => ({ id: name, label: name, description: statuses.get(name) ?? 'Unknown' })),
    chosen,
  )
}

/** Adds what the URL names, if it is not among the items: the pod may be gone. */
function withChosen(items: readonly Item[], chosen: string): Item[] {
  if (chosen === '' || items.some(({ id }) => id === chosen)) return [...items]
  return [...items, { id: chosen, label: chosen }]
}
