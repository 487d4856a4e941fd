import { useState } from 'react'

import { CompareView } from '~/editor/lazy'
import { Button } from '~/ui/Button'
import { Dialog } from '~/ui/Dialog'
import { Notice } from '~/ui/Notice'
import { Time } from '~/ui/Time'
import { Tabs } from '~/ui/TabLinks'
import { useMediaQuery } from '~/ui/useMediaQuery'

import styles from './deploy.module.css'

interface ConflictBarProps {
  /** What was edited, what somebody else made of it, and what is typed here. */
  base: string
  theirs: string
  mine: string
  /** It is another xApp of the same name. */
  isReplaced: boolean
  at: string | null
  onTakeTheirs: () => void
  onKeepMine: () => void
}

/** Returns what somebody else did meanwhile. */
export function conflictTitle(isReplaced: boolean): string {
  return isReplaced ? 'Somebody else replaced this xApp' : 'Changed by somebody else'
}

/** Somebody else changed or replaced the xApp meanwhile. What is typed here stays until a person decides. */
export function ConflictBar({ base, theirs, mine, isReplaced, at, onTakeTheirs, onKeepMine }: ConflictBarProps) {
  const [isComparing, setComparing] = useState(false)
  const [view, setView] = useState<'mine' | 'base'>('mine')
  const layout = useMediaQuery('(max-width: 719px)') ? 'unified' : 'side'
  const buttons = (
    <div className={styles.row}>
      {!isComparing && (
        <Button size="small" onPress={() => setComparing(true)}>
          Compare
        </Button>
      )}
      <Button size="small" onPress={onTakeTheirs}>
        Take theirs
      </Button>
      <Button size="small" onPress={onKeepMine}>
        Keep mine
      </Button>
    </div>
  )
  return (
    <Notice
      tone="warn"
      title={
        <>
          {`${conflictTitle(isReplaced)} at `}
          <Time at={at} show="time" />
        </>
      }
      actions={buttons}
    >
      <p>
        {isReplaced && 'The one that you edited was uninstalled, and another one of its name was deployed since. '}
        Nothing that you typed is lost. With &quot;Keep mine&quot;, what you typed replaces theirs when you press
        Upgrade.
      </p>
      <Dialog title="Compare" isOpen={isComparing} onClose={() => setComparing(false)} width="large" footer={buttons}>
        <Tabs
          label="What to compare"
          selected={view}
          onSelect={setView}
          items={[
            {
              id: 'mine',
              label: 'Theirs and mine',
              content: (
                <CompareView before={theirs} after={mine} labels={['Theirs', 'Mine']} language="yaml" layout={layout} />
              ),
            },
            {
              id: 'base',
              label: 'What they changed',
              content: (
                <CompareView
                  before={base}
                  after={theirs}
                  labels={['Before', 'Theirs']}
                  language="yaml"
                  layout={layout}
                />
              ),
            },
          ]}
        />
      </Dialog>
    </Notice>
  )
}
