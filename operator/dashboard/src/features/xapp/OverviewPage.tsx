import type { ReactElement } from 'react'

import { CausePanel } from '~/features/xapp/CausePanel'
import { ConditionsPanel } from '~/features/xapp/ConditionsPanel'
import { FactsPanel } from '~/features/xapp/FactsPanel'
import { HealthPanel } from '~/features/xapp/HealthPanel'
import { ProgressLine } from '~/features/xapp/ProgressLine'
import { ReachPanel } from '~/features/xapp/ReachPanel'

import styles from './OverviewPage.module.css'

/** How the xApp is, what to do about it, and where it is reached. Two panes on wide screens. */
export function OverviewPage(): ReactElement {
  return (
    <div className={styles.overview}>
      <div className={styles.pane}>
        <CausePanel />
        <ProgressLine />
        <HealthPanel />
      </div>
      <div className={styles.pane}>
        <ReachPanel />
        <ConditionsPanel />
        <FactsPanel />
      </div>
    </div>
  )
}
