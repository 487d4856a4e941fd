import { useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Outlet, useLocation } from '@tanstack/react-router'
import { ChevronLeft, ChevronRight } from 'lucide-react'
import { useEffect, useState, type ReactElement } from 'react'

import { configQuery } from '~/api/queries/values'
import { specQuery, type XAppId } from '~/api/queries/xappDetails'
import { usePermissions } from '~/api/usePermissions'
import { ActionsOfXApp } from '~/features/xapp/ActionsOfXApp'
import { Announcer } from '~/features/xapp/Announcer'
import { OpenXAppContext, type OpenXApp, type XAppDetails } from '~/features/xapp/openXApp'
import { RollbackDialog } from '~/features/xapp/RollbackDialog'
import { StateBars } from '~/features/xapp/StateBars'
import { useNeighbours, type Neighbour } from '~/features/xapp/useNeighbours'
import { useXAppRecord } from '~/features/xapp/useXAppRecord'
import { XAppTabs } from '~/features/xapp/XAppTabs'
import { rightUntilGone, setGone } from '~/lib/goneXApps'
import { listedXApps } from '~/lib/listedXApps'
import { isSaidOnce, Problem } from '~/lib/problem'
import { allOf, refused, type Right } from '~/lib/rights'
import { changeRight } from '~/lib/xapp/changeRight'
import { isSettled } from '~/lib/xapp/steps'
import { Copyable } from '~/ui/Copyable'
import { EmptyState } from '~/ui/EmptyState'
import { IconButton } from '~/ui/Button'
import { ButtonLink, Link } from '~/ui/Link'
import { Page } from '~/ui/Page'
import type { QueryLike } from '~/ui/Panel'
import { ProblemPanel } from '~/ui/ProblemPanel'
import { Skeleton } from '~/ui/Skeleton'
import { StatusBadge } from '~/ui/StatusBadge'
import { MiddleText } from '~/ui/Text'
import { AsOf } from '~/ui/Time'
import { useKeyBindings } from '~/ui/useKeyBindings'

import styles from './XAppLayout.module.css'

const route = getRouteApi('/xapps/$namespace/$name')
const NOT_FOUND = 404

/** What all pages of one xApp share: its head, its actions, the tabs. */
export function XAppLayout(): ReactElement {
  const { namespace, name } = route.useParams()
  // Another xApp is another page: nothing of the last one stays.
  return <LayoutOf key={`${namespace}/${name}`} id={{ namespace, name }} />
}

function LayoutOf({ id }: { id: XAppId }): ReactElement {
  const { query, goneAt } = useXAppRecord(id)
  const { right } = usePermissions(id.namespace, id.name)
  const record = query.data
  useKeptSpec(id, goneAt === null ? record : undefined)
  useGoneStore(id, goneAt?.getTime() ?? null)
  const width = usePageWidth()
  const [rollbackTo, setRollbackTo] = useState<number | null>(null)
  const open: OpenXApp | null =
    record === undefined
      ? null
      : {
          id,
          record,
          goneAt,
          isSettled: isSettled(record, record.health),
          see: right,
          change: (action) => allOf(rightUntilGone(goneAt), changeRight(record, right(action), action)),
          askToRollBack: setRollbackTo,
        }
  // One page before and after the first answer: the tabs stay scrolled, and the focus stays where it is.
  return (
    <OpenXAppContext value={open}>
      <Page
        title={id.name}
        heading={
          open === null ? (
            <MiddleText>{id.name}</MiddleText>
          ) : (
            <Heading record={open.record} isGone={goneAt !== null} readAt={query.dataUpdatedAt} />
          )
        }
        breadcrumbs={<Breadcrumbs id={id} />}
        actions={open === null ? undefined : <ActionsOfXApp />}
        width={width}
      >
        {open !== null && (
          <>
            <Announcer />
            <StateBars query={query} />
          </>
        )}
        {(open !== null || !isRefused(query.error)) && <XAppTabs id={id} />}
        {open === null ? <Unread id={id} query={query} /> : <Outlet />}
      </Page>
      {/* Here, where no news of the xApp closes it or gives it another revision. */}
      {rollbackTo !== null && <RollbackDialog revision={rollbackTo} onClose={() => setRollbackTo(null)} />}
    </OpenXAppContext>
  )
}

const FULL_WIDTH = new Set(['logs', 'values', 'upgrade', 'history', 'manifest'])

/** Logs, diffs and editors take the whole width of the window. */
function usePageWidth(): 'normal' | 'full' {
  const { pathname } = useLocation()
  return FULL_WIDTH.has(pathname.split('/').at(-1) ?? '') ? 'full' : 'normal'
}

/** Keeps spec and values as they are now: once the xApp is gone, it can be deployed again with them. */
function useKeptSpec(id: XAppId, record: XAppDetails | undefined): void {
  const client = useQueryClient()
  const { namespace, name } = id
  const generation = record?.source === 'xapp' ? record.generation : null
  const uid = record?.uid
  useEffect(() => {
    if (generation === null) return
    // Without them, nothing is lost but the offer.
    void client.query({ ...specQuery({ namespace, name }), staleTime: 0 }).catch(() => undefined)
    void client.query({ ...configQuery(namespace, name), staleTime: 0 }).catch(() => undefined)
  }, [client, namespace, name, uid, generation])
}

/** Tells the pages below that are no part of this feature. */
function useGoneStore({ namespace, name }: XAppId, at: number | null): void {
  useEffect(() => {
    if (at === null) return undefined
    setGone(`${namespace}/${name}`, at)
    return () => setGone(`${namespace}/${name}`, null)
  }, [namespace, name, at])
}

interface HeadingProps {
  record: XAppDetails
  isGone: boolean
  readAt: number
}

function Heading({ record, isGone, readAt }: HeadingProps): ReactElement {
  const { revision } = record.release
  return (
    <>
      <Copyable text={record.name} label="Copy the name" isInLine>
        <MiddleText>{record.name}</MiddleText>
      </Copyable>
      <span className={styles.status}>
        <StatusBadge status={isGone ? 'Uninstalled' : record.phase} />
      </span>
      {record.drifted === true && !isGone && (
        <span className={styles.status}>
          <StatusBadge status="Drifted" />
        </span>
      )}
      {record.source === 'labels' && <span className={styles.remark}>External</span>}
      {revision !== null && <span className={styles.remark}>revision {revision}</span>}
      <AsOf at={readAt} />
    </>
  )
}

function Breadcrumbs({ id }: { id: XAppId }): ReactElement {
  const listed = listedXApps.get()
  return (
    <>
      <Link to="/xapps" search={listed?.search ?? {}}>
        xApps Management
      </Link>
      <span aria-hidden>/</span>
      <Link to="/xapps" search={{ namespace: [id.namespace] }}>
        <MiddleText>{id.namespace}</MiddleText>
      </Link>
      <span className={styles.here}>
        <span aria-hidden>/</span>
        <MiddleText>{id.name}</MiddleText>
      </span>
      <Steppers id={id} />
    </>
  )
}

/** The buttons to the previous and the next xApp of the list. */
function Steppers({ id }: { id: XAppId }): ReactElement {
  const { previous, next, isListed } = useNeighbours(id)
  const navigate = route.useNavigate()
  const go = (to: Neighbour | null): void => {
    if (to === null) return
    listedXApps.set(to.listed)
    void navigate({ to: '/xapps/$namespace/$name', params: to.key })
  }
  useKeyBindings([
    { keys: '[', run: () => go(previous) },
    { keys: ']', run: () => go(next) },
  ])
  const right = (to: Neighbour | null, end: string): Right | undefined =>
    to !== null ? undefined : refused(isListed ? end : 'Open the list of xApps first: these step through it')
  return (
    <span className={styles.steppers}>
      <IconButton
        label={previous === null ? 'Previous xApp of the list' : `Previous: ${previous.key.name}`}
        icon={<ChevronLeft size={16} aria-hidden />}
        size="small"
        right={right(previous, 'This is the first xApp of the list')}
        onPress={() => go(previous)}
      />
      <IconButton
        label={next === null ? 'Next xApp of the list' : `Next: ${next.key.name}`}
        icon={<ChevronRight size={16} aria-hidden />}
        size="small"
        right={right(next, 'This is the last xApp of the list')}
        onPress={() => go(next)}
      />
    </span>
  )
}

interface UnreadProps {
  id: XAppId
  query: QueryLike<unknown>
}

/** The page before the first answer, or instead of it. */
function Unread({ id, query }: UnreadProps): ReactElement {
  const { error } = query
  if (!isRefused(error)) return <Skeleton lines={8} />
  if (!(error instanceof Problem) || error.status !== NOT_FOUND) {
    return <ProblemPanel error={error} onRetry={() => void query.refetch()} isRetrying={query.isFetching} />
  }
  return (
    <EmptyState
      title={`There is no xApp of this name in ${id.namespace}`}
      actions={
        <>
          <ButtonLink to="/xapps" search={{ search: id.name }}>
            Search for it
          </ButtonLink>
          <ButtonLink to="/deploy" search={{ namespace: id.namespace }}>
            Deploy an xApp
          </ButtonLink>
        </>
      }
    >
      It was uninstalled, or its name is another one.
    </EmptyState>
  )
}

/** Returns whether the xApp cannot be read, and no bar of the whole page says why. */
function isRefused(error: unknown): boolean {
  return error !== null && error !== undefined && !isSaidOnce(error)
}
