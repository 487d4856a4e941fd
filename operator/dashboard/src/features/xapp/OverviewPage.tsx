import { useState, type ReactElement } from 'react'

import { CausePanel, CauseSkeleton } from '~/features/xapp/CausePanel'
import { ConditionsPanel } from '~/features/xapp/ConditionsPanel'
import { FactsPanel } from '~/features/xapp/FactsPanel'
import { HealthPanel } from '~/features/xapp/HealthPanel'
import { Message } from '~/features/xapp/Message'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { ProgressLine } from '~/features/xapp/ProgressLine'
import { ReachPanel } from '~/features/xapp/ReachPanel'
import { TestsPanel } from '~/features/xapp/TestsPanel'
import { useOverviewReading } from '~/features/xapp/useOverviewReading'
import { ButtonLink } from '~/ui/Link'
import { Notice } from '~/ui/Notice'
import { progressSteps } from '~/lib/xapp/steps'

import styles from './OverviewPage.module.css'

/** How the xApp is, what to do about it, and where it is reached. Two panes on wide screens. */
export function OverviewPage(): ReactElement {
  const { record } = useOpenXApp()
  // The steps that somebody watches stay where they are when one of them fails: its cause comes below them.
  const [isWatched] = useState(() => progressSteps(record).some(({ state }) => state === 'current'))
  if (useOverviewReading())
    return (
      <div className={styles.overview}>
        <div className={styles.pane}>
          {isWatched && <ProgressLine />}
          <CauseSkeleton />
        </div>
      </div>
    )
  return (
    <div className={styles.overview}>
      <div className={styles.pane}>
        <HeldRevision />
        <Drift />
        {isWatched && <ProgressLine />}
        <CausePanel isWatched={isWatched} />
        {!isWatched && <ProgressLine />}
        <HealthPanel />
      </div>
      <div className={styles.pane}>
        <ReachPanel />
        <TestsPanel />
        <ConditionsPanel />
        <FactsPanel />
      </div>
    </div>
  )
}

/** What differs from the chart, and what ends that: it makes the xApp neither unhealthy nor unready. */
function Drift(): ReactElement | null {
  const { id, record, goneAt } = useOpenXApp()
  if (record.drifted !== true || goneAt !== null) return null
  const message = record.conditions.find(({ type }) => type === 'Drifted')?.message ?? null
  return (
    <Notice
      tone="warn"
      title="Objects differ from the manifest of the release"
      actions={
        <ButtonLink size="small" to="/xapps/$namespace/$name/manifest" params={id}>
          Manifest
        </ButtonLink>
      }
    >
      <Message>{message}</Message>
      Undo the change, or upgrade: an upgrade or a rollback gives these fields the values of the chart. With
      driftDetection.mode enabled, the operator does so by itself.
    </Notice>
  )
}

/** A rollback is no end: it says what ends it. */
function HeldRevision(): ReactElement | null {
  const { id, record, goneAt } = useOpenXApp()
  if (record.heldRevision === null || goneAt !== null) return null
  return (
    <Notice
      title={`Revision ${record.heldRevision} is in force by a rollback`}
      actions={
        <ButtonLink size="small" to="/xapps/$namespace/$name/values" params={id}>
          Edit values
        </ButtonLink>
      }
    >
      {record.phase === 'Suspended'
        ? 'To resume the xApp ends the rollback: the operator then installs the chart and the values of the XApp.'
        : 'The operator keeps it until the XApp changes: new values, an upgrade, or to suspend and resume it end the rollback.'}
    </Notice>
  )
}
