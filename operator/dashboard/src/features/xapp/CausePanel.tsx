import type { ReactElement, ReactNode } from 'react'

import { Message } from '~/features/xapp/Message'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { Remedies } from '~/features/xapp/Remedies'
import { useCause } from '~/features/xapp/useCause'
import { useHealth } from '~/features/xapp/useHealth'
import { useLastLines } from '~/features/xapp/useLastLines'
import { describeError } from '~/lib/problem'
import { adviceFor, adviceWhileWaiting } from '~/lib/xapp/advice'
import {
  causeReport,
  culpritLead,
  culpritText,
  findCause,
  kubeletMessage,
  LAST_LINES_SHOWN,
  logsOf,
  timesText,
  type Cause,
  type Culprit,
} from '~/lib/xapp/cause'
import { plainLines } from '~/lib/xapp/logLines'
import { Code } from '~/ui/Code'
import { Copyable } from '~/ui/Copyable'
import { CopyButton } from '~/ui/CopyButton'
import { ButtonLink } from '~/ui/Link'
import { Card } from '~/ui/Panel'
import { Skeleton } from '~/ui/Skeleton'
import { Text } from '~/ui/Text'
import { Time } from '~/ui/Time'

import styles from './CausePanel.module.css'

const EVENTS_SHOWN = 8

/** The same while its details are on their way: what the xApp itself says. */
export function CauseSkeleton(): ReactElement {
  const { record } = useOpenXApp()
  const cause = findCause(record, undefined)
  if (cause === null) return <Skeleton lines={8} />
  return (
    <Card title={causeTitle(record.phase)} tone="bad">
      <p className={styles.message}>
        <Text multiline>{cause.message}</Text>
      </p>
      <Skeleton lines={10} />
    </Card>
  )
}

/**
 * Why the xApp is not Ready, with the last words of the container at fault, and what to do. While somebody watches, it
 * has room for that from the beginning, so that nothing below moves when a step fails.
 */
export function CausePanel({ isWatched }: { isWatched: boolean }): ReactElement | null {
  const { record, goneAt } = useOpenXApp()
  const { cause, waitsFor } = useCause()
  const isReady = isWatched && goneAt === null && record.ready
  if (cause === null && waitsFor === null && !isReady) return null
  return (
    <div className={isWatched ? styles.room : undefined}>
      {cause !== null ? <CauseCard cause={cause} /> : <ProgressCard message={waitsFor ?? record.message} />}
    </div>
  )
}

/** What the xApp waits for, or that this is over. */
function ProgressCard({ message }: { message: string | null }): ReactElement {
  const { record } = useOpenXApp()
  const title =
    record.phase === 'Uninstalling' ? 'It is being uninstalled' : record.ready ? 'It is Ready' : 'What it waits for'
  const advice = adviceWhileWaiting(record)
  return (
    <Card title={title}>
      <div className={styles.message}>
        <Message>{message}</Message>
      </div>
      {advice !== null && (
        <Row label="Do" actions={<Remedies remedies={advice.remedies} />}>
          {advice.text}
        </Row>
      )}
      <LastEvents />
    </Card>
  )
}

function LastEvents(): ReactElement | null {
  const events = useHealth().data?.events.slice(0, EVENTS_SHOWN) ?? []
  if (events.length === 0) return null
  return (
    <Row label="Events" actions={<EventsLink />}>
      <ul className={styles.events}>
        {events.map(({ reason, message, object, lastSeen }, index) => (
          <li key={index}>
            <Text lines={1}>{`${reason ?? ''}: ${message ?? ''} (${object.kind ?? ''} ${object.name ?? ''})`}</Text>
            <Time at={lastSeen} />
          </li>
        ))}
      </ul>
    </Row>
  )
}

function EventsLink(): ReactElement {
  const { id } = useOpenXApp()
  return (
    <ButtonLink to="/xapps/$namespace/$name/events" params={id} size="small">
      Events
    </ButtonLink>
  )
}

function CauseCard({ cause }: { cause: Cause }): ReactElement {
  const { id, record, see } = useOpenXApp()
  const seesPods = useHealth().data?.podsTotal !== null
  const events = see('events')
  const { culprit, lastEvent, message, restored } = cause
  const said = kubeletMessage(cause)
  const advice = adviceFor(record, cause)
  const headline = culprit !== null && (
    <p className={styles.culprit}>
      {culpritLead(cause)}Pod <Text>{culprit.pod}</Text>, container <Text>{culprit.container}</Text>:{' '}
      <Text>{culpritText(culprit)}</Text>
    </p>
  )
  return (
    <Card
      title={causeTitle(record.phase)}
      tone="bad"
      actions={
        <CopyButton text={() => causeReport(record, cause, new Date())} label="Copy report">
          Copy report
        </CopyButton>
      }
    >
      {restored === null && headline}
      <div className={styles.message}>
        <Message>{message}</Message>
      </div>
      {restored !== null && headline}
      {said !== null && (
        <Row label="Kubelet">
          <Message>{said}</Message>
        </Row>
      )}
      {culprit !== null && culprit.hasRun && <LastWords culprit={culprit} />}
      {culprit === null && !seesPods && record.release.revision !== null && (
        <Row label="Last words">
          <span className={styles.none}>Not visible. Needs: list pods in {id.namespace}</span>
        </Row>
      )}
      {lastEvent === null && !events.allowed && (
        <Row label="Last event">
          <span className={styles.none}>Not visible. {events.reason}</span>
        </Row>
      )}
      {lastEvent !== null && (
        <Row label="Last event" actions={<EventsLink />}>
          <Copyable text={lastEvent.message ?? ''} label="Copy the message of the event">
            <Text>{`${lastEvent.reason ?? ''}: ${lastEvent.message ?? ''}`}</Text>, {timesText(lastEvent.count)},{' '}
            <Time at={lastEvent.lastSeen} show="both" />
          </Copyable>
        </Row>
      )}
      <Row label="Do" actions={<Remedies remedies={advice.remedies} />}>
        {advice.text}
      </Row>
    </Card>
  )
}

function causeTitle(phase: string): string {
  return phase === 'Uninstalling' ? 'Why it is not gone' : 'Why it is not Ready'
}

function Row({ label, children, actions }: { label: string; children: ReactNode; actions?: ReactNode }): ReactElement {
  return (
    <div className={styles.row}>
      <span className={styles.label}>{label}</span>
      <div className={styles.content}>{children}</div>
      {actions !== undefined && <div className={styles.actions}>{actions}</div>}
    </div>
  )
}

/** The end of the log of the container at fault: as the health tells it, or else read. */
function LastWords({ culprit }: { culprit: Culprit }): ReactElement {
  const { id, see } = useOpenXApp()
  const right = see('logs')
  const { pod, container, lastWords } = culprit
  const logs = logsOf(culprit)
  const lines = useLastLines(culprit)
  const text = right.allowed ? plainLines(lastWords ?? lines.data ?? '', LAST_LINES_SHOWN) : ''
  return (
    <Row
      label="Last words"
      actions={logs.map(({ label, previous }) => (
        <ButtonLink
          key={label}
          to="/xapps/$namespace/$name/logs"
          params={id}
          search={{ pod, container, previous }}
          size="small"
        >
          {label}
        </ButtonLink>
      ))}
    >
      {text !== '' ? (
        <Code label="the last words" wraps>
          {text}
        </Code>
      ) : !right.allowed ? (
        <span className={styles.none}>Not visible. {right.reason}</span>
      ) : lines.error !== null ? (
        <span className={styles.none}>
          <Text>{describeError(lines.error).detail}</Text>
        </span>
      ) : (
        <span className={styles.none}>{lines.isLoading ? 'Reading the log' : 'The log is empty.'}</span>
      )}
    </Row>
  )
}
