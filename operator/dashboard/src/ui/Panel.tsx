import { useId, type ReactElement, type ReactNode } from 'react'

import { isSaidOnce } from '~/lib/problem'
import { classes } from '~/ui/classes'
import { ProblemPanel } from '~/ui/ProblemPanel'
import { Skeleton } from '~/ui/Skeleton'
import { AsOf } from '~/ui/Time'

import styles from './Panel.module.css'

/** The part of a query's result that a panel uses; `useQuery` returns it. */
export interface QueryLike<T> {
  data: T | undefined
  error: unknown
  isFetching: boolean
  dataUpdatedAt: number
  refetch: () => unknown
}

interface CardProps {
  title?: ReactNode
  /** Beside the title. */
  aside?: ReactNode
  actions?: ReactNode
  children: ReactNode
  level?: 2 | 3
  tone?: 'bad' | 'warn'
  className?: string | undefined
}

/** A box with a title. */
export function Card({ title, aside, actions, children, level = 2, tone, className }: CardProps): ReactElement {
  const id = useId()
  const Title = level === 2 ? 'h2' : 'h3'
  return (
    <section
      className={classes(styles.card, tone !== undefined && styles[tone], className)}
      aria-labelledby={title === undefined ? undefined : id}
    >
      {(title !== undefined || actions !== undefined) && (
        <div className={styles.head}>
          {title !== undefined && <Title id={id}>{title}</Title>}
          {aside}
          {actions !== undefined && <div className={styles.actions}>{actions}</div>}
        </div>
      )}
      {children}
    </section>
  )
}

interface PanelProps<T> extends Omit<CardProps, 'children' | 'aside'> {
  query: QueryLike<T>
  children: (data: T) => ReactNode
  skeletonLines?: number
  /** Nothing is read any more: the last data stays, without an error; this stands in its place if there is none. */
  ended?: ReactElement | undefined
  /** What is said when the first answer takes longer, for example "The gateway reads the chart". */
  waitsFor?: string | undefined
  /** How many seconds that takes at most. */
  waitsAtMost?: number | undefined
}

/**
 * A box with the result of a query: its skeleton while it loads for the first time, the data with its age once it is
 * old, and an error in its place. Old data stays while new comes, and below an error.
 */
export function Panel<T>({
  query,
  children,
  skeletonLines = 3,
  ended,
  waitsFor,
  waitsAtMost,
  ...card
}: PanelProps<T>): ReactElement {
  return (
    <Card {...card} aside={query.data === undefined ? undefined : <AsOf at={query.dataUpdatedAt} />}>
      <QueryContent
        query={query}
        skeletonLines={skeletonLines}
        ended={ended}
        waitsFor={waitsFor}
        waitsAtMost={waitsAtMost}
      >
        {children}
      </QueryContent>
    </Card>
  )
}

/** The same without the box. */
export function QueryContent<T>({
  query,
  children,
  skeletonLines = 3,
  ended,
  waitsFor,
  waitsAtMost,
}: Pick<PanelProps<T>, 'query' | 'children' | 'skeletonLines' | 'ended' | 'waitsFor' | 'waitsAtMost'>): ReactElement {
  const { data } = query
  // Once it has ended, the content keeps its place, and with it its state, such as what is typed.
  const error = ended !== undefined || isSaidOnce(query.error) ? null : query.error
  return (
    <>
      {error !== null && error !== undefined && (
        <ProblemPanel error={error} onRetry={() => void query.refetch()} isRetrying={query.isFetching} />
      )}
      {data !== undefined && children(data)}
      {data === undefined && ended}
      {data === undefined && ended === undefined && (error === null || error === undefined) && (
        <Skeleton lines={skeletonLines} waitsFor={waitsFor} waitsAtMost={waitsAtMost} isWaiting={query.isFetching} />
      )}
    </>
  )
}
