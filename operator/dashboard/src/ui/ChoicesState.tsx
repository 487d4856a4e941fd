import type { ReactElement } from 'react'
import { ButtonContext } from 'react-aria-components'

import { describeError, isSaidOnce } from '~/lib/problem'
import { Button } from '~/ui/Button'
import { Text } from '~/ui/Text'
import { Waiting } from '~/ui/Waiting'

import styles from './fieldStyles.module.css'

/** Choices that are read from the gateway. */
export interface ChoicesRead {
  /** Several of them, for example "namespaces". */
  what: string
  query: { isFetching: boolean; error: unknown; refetch: () => unknown }
  /** What is said once it takes longer than a moment. */
  waitsFor?: string
  waitsAtMost?: number | undefined
}

interface NoChoicesProps {
  /** Undefined: nothing is read. */
  read: ChoicesRead | undefined
  emptyText?: string | undefined
}

/** What stands in a list without choices: what is read and for how long, that it failed, or that there are none. */
export function NoChoices({ read, emptyText = 'None found' }: NoChoicesProps): ReactElement {
  return <div className={styles.empty}>{read === undefined || isRead(read) ? emptyText : <Reading {...read} />}</div>
}

function Reading(read: ChoicesRead): ReactElement {
  const { what, query, waitsFor = 'Waiting for the gateway', waitsAtMost } = read
  if (failureOf(read) !== null) return <>The {what} could not be loaded.</>
  return (
    <>
      <div>Loading the {what}</div>
      <Waiting what={waitsFor} isRunning={query.isFetching} atMost={waitsAtMost} />
    </>
  )
}

/** Why choices could not be read, for the message below a field; null: they could. */
export function choicesFailure(read: ChoicesRead | undefined): ReactElement | null {
  const failure = read === undefined ? null : failureOf(read)
  if (read === undefined || failure === null) return null
  return (
    <span role="alert" className={styles.failure}>
      The {read.what} could not be loaded. <Text>{describeError(failure).detail}</Text>
    </span>
  )
}

interface RetryChoicesProps {
  read: ChoicesRead | undefined
  /** Called with Retry, which goes with the message. */
  onRetry?: () => void
}

/** Reads choices again that could not be read. */
export function RetryChoices({ read, onRetry }: RetryChoicesProps): ReactElement | null {
  if (read === undefined || failureOf(read) === null) return null
  return (
    // A button in a field would be the one that shows the choices.
    <ButtonContext value={null}>
      <Button
        size="small"
        onPress={() => {
          read.query.refetch()
          onRetry?.()
        }}
      >
        Retry
      </Button>
    </ButtonContext>
  )
}

function isRead({ query }: ChoicesRead): boolean {
  return !query.isFetching && query.error === null
}

/** The error of the last read; null while it is read again, also if the shell says it for the whole page. */
function failureOf({ query: { isFetching, error } }: ChoicesRead): unknown {
  return isFetching || isSaidOnce(error) ? null : error
}
