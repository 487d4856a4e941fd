import { getRouteApi } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'

import { historyQuery, type RevisionRow } from '~/api/queries/xappDetails'
import { chartText } from '~/features/xapp/Facts'
import { NoRevision } from '~/features/xapp/NoRevision'
import { NotVisible } from '~/features/xapp/NotVisible'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { RevisionPanel } from '~/features/xapp/RevisionPanel'
import { useEnded } from '~/features/xapp/useEnded'
import { useKnownRevisions } from '~/features/xapp/useKnownRevisions'
import { WithoutHelm } from '~/features/xapp/WithoutHelm'
import { allOf, refused } from '~/lib/rights'
import { healthRemark } from '~/lib/xapp/revisions'
import { isWithoutHelm } from '~/lib/xapp/withoutHelm'
import { Button } from '~/ui/Button'
import { DataTable, type Column } from '~/ui/DataTable'
import { FoldedText } from '~/ui/FoldedText'
import { ButtonLink } from '~/ui/Link'
import { Pagination, useLeftPage } from '~/ui/Pagination'
import { Panel } from '~/ui/Panel'
import { StatusBadge } from '~/ui/StatusBadge'
import { MiddleText, Text } from '~/ui/Text'
import { Time } from '~/ui/Time'

import styles from './HistoryPage.module.css'

const route = getRouteApi('/xapps/$namespace/$name/history')
const PER_PAGE = 20

interface Asked {
  revision: number
  /** The one to compare with, or null. */
  other: number | null
}

/** The revisions of the release: look at one, compare two, roll back to one. */
export function HistoryPage(): ReactElement {
  const { id, record, goneAt, see } = useOpenXApp()
  const canRead = see('release')
  const ended = useEnded()
  const { page, revision, with: other } = route.useSearch()
  const navigate = route.useNavigate()
  const { query: history, note } = useLeftPage(
    useQuery({ ...historyQuery(id, page, record.release.revision), enabled: goneAt === null }),
    page,
    (next) => void navigate({ search: (current) => ({ ...current, page: next }), replace: true }),
  )
  const { shown, note: unknownNote } = useKnownRevisions(
    id,
    { revision, with: other },
    history.isPlaceholderData ? undefined : history.data,
    (used) => void navigate({ search: (current) => ({ ...current, ...used }), replace: true }),
  )
  // What a person has just asked to see, until it is shown.
  const [asked, setAsked] = useState<Asked | null>(null)
  return (
    <div className={styles.page}>
      {unknownNote}
      <Panel
        title="History"
        query={history}
        ended={ended}
        skeletonLines={5}
        className={shown.revision === null ? styles.tableOnly : undefined}
      >
        {({ content, total_count, last_page }) =>
          content.length === 0 && isWithoutHelm(record) ? (
            <WithoutHelm what="revisions" />
          ) : content.length === 0 ? (
            <NoRevision />
          ) : (
            <>
              {note}
              <DataTable
                caption="Revisions of the release"
                columns={columns(content, setAsked)}
                rows={content}
                rowKey={(row) => String(row.revision)}
                currentRow={revision === null ? null : String(revision)}
                isStale={history.isPlaceholderData}
              />
              {last_page > 1 && (
                <Pagination
                  page={page}
                  lastPage={last_page}
                  total={total_count}
                  perPage={PER_PAGE}
                  onPage={(next) => void navigate({ search: (current) => ({ ...current, page: next }) })}
                />
              )}
              {shown.revision !== null && !canRead.allowed && <NotVisible right={canRead} />}
              {shown.revision !== null && canRead.allowed && (
                <RevisionPanel
                  revision={shown.revision}
                  other={shown.with}
                  known={content}
                  isAsked={asked !== null && asked.revision === shown.revision && asked.other === shown.with}
                  onShown={() => setAsked(null)}
                />
              )}
            </>
          )
        }
      </Panel>
    </div>
  )
}

function columns(all: readonly RevisionRow[], onAsk: (asked: Asked) => void): Column<RevisionRow>[] {
  return [
    { id: 'revision', header: 'Revision', cell: (row) => <Revision row={row} /> },
    { id: 'status', header: 'Status', cell: (row) => <Status row={row} /> },
    { id: 'action', header: 'Action', fold: 'medium', cell: ({ action }) => <Text>{action ?? '-'}</Text> },
    {
      id: 'chart',
      header: 'Chart',
      cell: (row) => <MiddleText>{chartText(row) ?? '-'}</MiddleText>,
    },
    { id: 'app', header: 'App version', fold: 'medium', cell: ({ appVersion }) => <Text>{appVersion ?? '-'}</Text> },
    { id: 'deployed', header: 'Deployed', cell: ({ deployedAt }) => <Time at={deployedAt} show="time" /> },
    {
      id: 'actions',
      header: 'Actions',
      hidesLabel: true,
      align: 'end',
      cell: (row) => <RowActions row={row} all={all} onAsk={onAsk} />,
    },
  ]
}

/** Its number; where there is no room for columns of their own, also what was done and the version of the app. */
function Revision({ row: { revision, action, appVersion } }: { row: RevisionRow }): ReactElement {
  return (
    <span className={styles.revision}>
      {revision}
      <FoldedText parts={[action, appVersion === null ? null : `app ${appVersion}`]} lines={1} />
    </span>
  )
}

/** What Helm says of it, and that it never was healthy. */
function Status({ row }: { row: RevisionRow }): ReactElement {
  const { record } = useOpenXApp()
  // The record is newer than the list when only the health has changed.
  const known = record.history.find(({ revision }) => revision === row.revision) ?? row
  const remark = healthRemark(known, record.release.revision, record.stalled)
  return (
    <span className={styles.status}>
      <StatusBadge status={row.status ?? 'unknown'} isPlain />
      {remark !== null && <StatusBadge status={remark} isPlain />}
    </span>
  )
}

interface RowActionsProps {
  row: RevisionRow
  all: readonly RevisionRow[]
  onAsk: (asked: Asked) => void
}

function RowActions({ row: { revision }, all, onAsk }: RowActionsProps): ReactElement {
  const { id, record, change, see, askToRollBack } = useOpenXApp()
  const inForce = record.release.revision
  const isInForce = revision === inForce
  const before = all.find((each) => each.revision < revision)?.revision ?? null
  const other = isInForce || inForce === null ? before : inForce
  const canRead = see('release')
  return (
    <span className={styles.actions}>
      <RevisionLink
        id={id}
        revision={revision}
        other={null}
        right={canRead}
        label={`Show revision ${revision}`}
        onAsk={onAsk}
      >
        Show
      </RevisionLink>
      <RevisionLink
        id={id}
        revision={revision}
        other={other}
        right={allOf(other === null ? refused('There is no other revision to compare with') : null, canRead)}
        label={`Compare revision ${revision}${other === null ? '' : ` with ${other}`}`}
        onAsk={onAsk}
      >
        Compare
      </RevisionLink>
      <Button
        size="small"
        label={`Roll back to revision ${revision}...`}
        right={allOf(isInForce ? refused('This revision is in force') : null, change('rollback'))}
        onPress={() => askToRollBack(revision)}
      >
        Roll back...
      </Button>
    </span>
  )
}

interface RevisionLinkProps {
  id: { namespace: string; name: string }
  revision: number
  other: number | null
  right: ReturnType<typeof allOf>
  label: string
  onAsk: (asked: Asked) => void
  children: string
}

function RevisionLink({ id, revision, other, right, label, onAsk, children }: RevisionLinkProps): ReactElement {
  if (!right.allowed) {
    return (
      <Button size="small" right={right} label={label}>
        {children}
      </Button>
    )
  }
  return (
    <ButtonLink
      to="/xapps/$namespace/$name/history"
      params={id}
      search={(current) => ({ ...current, revision, with: other })}
      size="small"
      aria-label={label}
      // The panel comes into view instead.
      resetScroll={false}
      onClick={({ ctrlKey, metaKey, shiftKey }) => {
        if (!ctrlKey && !metaKey && !shiftKey) onAsk({ revision, other })
      }}
    >
      {children}
    </ButtonLink>
  )
}
