import { getRouteApi } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'

import { eventsQuery, xappPath, type XAppEventRow } from '~/api/queries/xappDetails'
import { NotVisible } from '~/features/xapp/NotVisible'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { Message } from '~/features/xapp/Message'
import { Word } from '~/features/xapp/Word'
import { useEnded } from '~/features/xapp/useEnded'
import { curlCommand, kubectl } from '~/lib/commands'
import { CopyAs } from '~/ui/CopyAs'
import { DataTable, type Column } from '~/ui/DataTable'
import { EmptyState } from '~/ui/EmptyState'
import { Pagination, useLeftPage } from '~/ui/Pagination'
import { Panel } from '~/ui/Panel'
import { StatusBadge } from '~/ui/StatusBadge'
import { Text } from '~/ui/Text'
import { Time } from '~/ui/Time'

const route = getRouteApi('/xapps/$namespace/$name/events')
const UNSETTLED_MILLISECONDS = 5_000
const SETTLED_MILLISECONDS = 30_000
const PER_PAGE = 50

const COLUMNS: readonly Column<XAppEventRow & { index: number }>[] = [
  { id: 'seen', header: 'Last seen', cell: ({ lastSeen }) => <Time at={lastSeen} /> },
  {
    id: 'type',
    header: 'Type',
    cell: ({ type }) => (type === 'Warning' ? <StatusBadge status={type} isPlain /> : <Word>{type ?? '-'}</Word>),
  },
  { id: 'reason', header: 'Reason', cell: ({ reason }) => <Word>{reason ?? '-'}</Word> },
  {
    id: 'object',
    header: 'Object',
    cell: ({ object }) => <Text>{`${object.kind ?? ''} ${object.name ?? ''}`}</Text>,
  },
  { id: 'message', header: 'Message', cell: ({ message }) => <Message>{message}</Message> },
  { id: 'count', header: 'Times', align: 'end', cell: ({ count }) => count.toLocaleString('en-US') },
]

/** The events about the xApp and its objects, newest first. */
export function EventsPage(): ReactElement {
  const { id, goneAt, isSettled, see } = useOpenXApp()
  const { page } = route.useSearch()
  const navigate = route.useNavigate()
  const ended = useEnded()
  const right = see('events')
  const answer = useQuery({
    ...eventsQuery(id, page, PER_PAGE),
    enabled: goneAt === null && right.allowed,
    refetchInterval: isSettled ? SETTLED_MILLISECONDS : UNSETTLED_MILLISECONDS,
  })
  const { query: events, note } = useLeftPage(
    answer,
    page,
    (next) => void navigate({ search: { page: next }, replace: true }),
  )
  if (!right.allowed) {
    return <NotVisible right={right} />
  }
  return (
    <Panel
      title="Events"
      query={events}
      ended={ended}
      skeletonLines={8}
      actions={<CopyAs size="small" {...commandsFor(id)} />}
    >
      {({ content, total_count, last_page }) =>
        content.length === 0 ? (
          <EmptyState title="No events">The cluster keeps events for about an hour.</EmptyState>
        ) : (
          <>
            {note}
            <DataTable
              caption="Events of the xApp"
              columns={COLUMNS}
              rows={content.map((event, index) => ({ ...event, index }))}
              rowKey={({ index }) => String(index)}
              isStale={events.isPlaceholderData}
            />
            <Pagination
              page={page}
              lastPage={last_page}
              total={total_count}
              perPage={PER_PAGE}
              onPage={(next) => void navigate({ search: { page: next } })}
            />
          </>
        )
      }
    </Panel>
  )
}

function commandsFor(id: { namespace: string; name: string }): { curl: string; kubectl: string } {
  return {
    curl: curlCommand({ method: 'GET', path: xappPath(id, 'events'), query: { per_page: PER_PAGE, pretty: true } }),
    kubectl: kubectl(['events', '-n', id.namespace, '--for', `xapp/${id.name}`]),
  }
}
