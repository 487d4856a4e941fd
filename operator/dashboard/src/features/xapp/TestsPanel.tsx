import { useQuery } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'

import { testsQuery, xappPath, type ChartTest } from '~/api/queries/xappDetails'
import { NotVisible } from '~/features/xapp/NotVisible'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { useEnded } from '~/features/xapp/useEnded'
import { curlCommand } from '~/lib/commands'
import { Code } from '~/ui/Code'
import { CopyAs } from '~/ui/CopyAs'
import { EmptyState } from '~/ui/EmptyState'
import { Card, Panel } from '~/ui/Panel'
import { StatusBadge } from '~/ui/StatusBadge'
import { Text } from '~/ui/Text'
import { Time } from '~/ui/Time'

import styles from './TestsPanel.module.css'

const RUNNING_MILLISECONDS = 5_000

/** The tests of the chart, once they have run: how each ended, and its log. */
export function TestsPanel(): ReactElement | null {
  const { id, record, goneAt, see } = useOpenXApp()
  const ended = useEnded()
  const result = record.conditions.find(({ type }) => type === 'TestSuccess')
  const right = see('release')
  const query = useQuery({
    // Another result is another report.
    ...testsQuery(id, `${record.release.revision} ${result?.status} ${result?.message}`),
    enabled: goneAt === null && right.allowed && result !== undefined,
    refetchInterval: result?.status === 'Unknown' ? RUNNING_MILLISECONDS : false,
  })
  if (result === undefined) return null
  if (!right.allowed) {
    return (
      <Card title="Tests">
        <NotVisible right={right} />
      </Card>
    )
  }
  const commands = {
    curl: curlCommand({ method: 'GET', path: xappPath(id, 'tests') }),
    kubectl: { none: 'kubectl does not know tests. Use helm: helm status' },
  }
  return (
    <Panel title="Tests" query={query} ended={ended} actions={<CopyAs size="small" {...commands} />}>
      {(tests) =>
        tests.length === 0 ? (
          <EmptyState title="The chart has no tests" />
        ) : (
          <ul className={styles.tests}>
            {tests.map((test) => (
              <li key={test.name}>
                <Test test={test} />
              </li>
            ))}
          </ul>
        )
      }
    </Panel>
  )
}

function Test({ test }: { test: ChartTest }): ReactElement {
  const { name, kind, phase, completedAt } = test
  const [wasOpened, setOpened] = useState<boolean | null>(null)
  const isOpen = wasOpened ?? phase === 'Failed'
  return (
    <details open={isOpen} onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary>
        <span className={styles.line}>
          <StatusBadge status={phase ?? 'Unknown'} isPlain />
          <Text>{`${kind ?? ''} ${name}`.trim()}</Text>
          {completedAt !== null && <Time at={completedAt} />}
        </span>
      </summary>
      {isOpen && <TestLog test={test} />}
    </details>
  )
}

function TestLog({ test: { name, log } }: { test: ChartTest }): ReactElement {
  if (log === null) return <p>There is no log: the pod is gone, or you may not read it.</p>
  return log === '' ? <p>The log is empty.</p> : <Code label={`the log of ${name}`}>{log}</Code>
}
