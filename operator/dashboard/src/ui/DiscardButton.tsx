import type { ReactElement } from 'react'

import { ALLOWED, refused } from '~/lib/rights'
import { Button } from '~/ui/Button'
import type { Discarding } from '~/ui/useDiscard'
import { useKeptFocus } from '~/ui/useKeptFocus'

import styles from './DiscardButton.module.css'

interface DiscardButtonProps {
  isChanged: boolean
  isBusy: boolean
  onDiscard: () => void
  children: string
}

/** Drops what was typed. It keeps its place, so that no other button moves under the pointer. */
export function DiscardButton({ isChanged, isBusy, onDiscard, children }: DiscardButtonProps): ReactElement {
  const right = !isChanged
    ? refused('You have not changed anything')
    : isBusy
      ? refused('Wait until the gateway has answered')
      : ALLOWED
  return (
    <Button variant="quiet" right={right} onPress={onDiscard}>
      {children}
    </Button>
  )
}

/** Offers back what was just discarded. It stands behind the buttons, so that none of them moves. */
export function UndoDiscard({ undo }: Pick<Discarding, 'undo'>): ReactElement {
  const box = useKeptFocus<HTMLDivElement>()
  return (
    <div {...box} className={styles.undo} role="group" aria-label="What was discarded">
      <span role="status">{undo !== null && 'Discarded.'}</span>
      {undo !== null && (
        <Button size="small" onPress={undo}>
          Undo
        </Button>
      )}
    </div>
  )
}
