import { useState } from 'react'

import { Problem } from '~/lib/problem'
import { ALLOWED, refused } from '~/lib/rights'
import { Button } from '~/ui/Button'
import { Dialog } from '~/ui/Dialog'
import { Notice } from '~/ui/Notice'
import { Time } from '~/ui/Time'
import { Tabs } from '~/ui/TabLinks'
import { useMediaQuery } from '~/ui/useMediaQuery'

import { CompareView } from './lazy'
import styles from './ConflictBar.module.css'

const CONFLICTS = new Set([409, 412])

type ComparedText = 'Before' | 'Theirs' | 'Mine'

const VIEWS = {
  both: { label: 'Theirs and mine', texts: ['Theirs', 'Mine'] },
  theirs: { label: 'Their changes', texts: ['Before', 'Theirs'] },
  mine: { label: 'My changes', texts: ['Before', 'Mine'] },
} satisfies Record<string, { label: string; texts: [ComparedText, ComparedText] }>

interface ConflictBarProps {
  /** What was edited, what somebody else made of it, and what is typed here. */
  base: string
  theirs: string
  mine: string
  /** What was edited; an xApp if nothing is said. */
  what?: ConflictTerms
  /** It is another object of the same name. */
  isReplaced: boolean
  at: string | null
  /** A write was refused because of it: the comparison opens. */
  isRefused: boolean
  /** What they changed is not read as a whole yet. */
  isReading?: boolean
  onTakeTheirs: () => void
  onKeepMine: () => void
}

/** What a bar calls the object, its end and its begin, and the button that writes it. */
export interface ConflictTerms {
  noun: string
  removed: string
  created: string
  button: string
  /** Said when the texts to compare do not show what changed. */
  unseen?: string
}

const XAPP: ConflictTerms = { noun: 'xApp', removed: 'uninstalled', created: 'deployed', button: 'Upgrade' }

/** Returns what somebody else did meanwhile. */
export function conflictTitle(isReplaced: boolean, { noun }: ConflictTerms = XAPP): string {
  return isReplaced ? `Somebody else replaced this ${noun}` : 'Changed by somebody else'
}

export function isConflictProblem(error: unknown): boolean {
  return error instanceof Problem && CONFLICTS.has(error.status)
}

/** Somebody else changed or replaced the object meanwhile. What is typed here stays until a person decides. */
export function ConflictBar({
  base,
  theirs,
  mine,
  what = XAPP,
  isReplaced,
  at,
  isRefused,
  isReading = false,
  onTakeTheirs,
  onKeepMine,
}: ConflictBarProps) {
  const [isComparing, setComparing] = useState(isRefused)
  const [wasRefused, setWasRefused] = useState(isRefused)
  if (isRefused !== wasRefused) {
    setWasRefused(isRefused)
    if (isRefused) setComparing(true)
  }
  const [view, setView] = useState<keyof typeof VIEWS>('both')
  const texts = { Before: base, Theirs: theirs, Mine: mine }
  const layout = useMediaQuery('(width < 45em)') ? 'unified' : 'side'
  const right = isReading ? refused('Still reading what they changed') : ALLOWED
  const buttons = (
    <div className={styles.row}>
      {!isComparing && (
        <Button size="small" onPress={() => setComparing(true)}>
          Compare
        </Button>
      )}
      <Button size="small" right={right} onPress={onTakeTheirs}>
        Take theirs
      </Button>
      <Button size="small" right={right} onPress={onKeepMine}>
        Keep mine
      </Button>
    </div>
  )
  return (
    <Notice
      tone="warn"
      title={
        <>
          {`${conflictTitle(isReplaced, what)} at `}
          <Time at={at} show="time" />
        </>
      }
      actions={buttons}
    >
      <p>
        {isReplaced &&
          `The one that you edited was ${what.removed}, and another one of its name was ${what.created} since. `}
        {!isReplaced && base === theirs && what.unseen}
        Nothing that you typed is lost. With &quot;Keep mine&quot;, what you typed replaces theirs when you press{' '}
        {what.button}.
      </p>
      <Dialog title="Compare" isOpen={isComparing} onClose={() => setComparing(false)} width="large" footer={buttons}>
        <Tabs
          label="What to compare"
          selected={view}
          onSelect={setView}
          items={(Object.keys(VIEWS) as (keyof typeof VIEWS)[]).map((id) => {
            const { label, texts: labels } = VIEWS[id]
            const [before, after] = labels
            return {
              id,
              label,
              content: (
                <CompareView
                  before={texts[before]}
                  after={texts[after]}
                  labels={labels}
                  language="yaml"
                  layout={layout}
                />
              ),
            }
          })}
        />
      </Dialog>
    </Notice>
  )
}
