import { useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'

import { useChanges, type Change } from '~/api/changes'
import { onReconnect } from '~/api/connection'
import { readXApps, xappsQuery, type XApp, type XAppsRead } from '~/api/queries/xapps'
import { isSaidOnce } from '~/lib/problem'
import { queryText, type Query } from '~/lib/query'
import {
  haveSameRows,
  nothingPending,
  pendingAfter,
  pendingText,
  pendingWith,
  startsWith,
  withChangedRow,
  type PendingChanges,
} from '~/lib/xapps/liveRows'
import { removedHere } from '~/lib/xapps/removedHere'

const READ_AGAIN_MILLISECONDS = 1000
const COUNT_AGAIN_MILLISECONDS = 3000
const NO_ROWS: readonly XApp[] = []

interface LiveListOptions {
  /** The page: its filters, order, number and size. */
  query: Query
  filters: Query
  /** Whether the reader is at work in the table. */
  isBusy: () => boolean
  /** An xApp is gone, or does not match the filters any more. */
  onGone: (uid: string) => void
}

export interface LiveList {
  answer: UseQueryResult<XAppsRead>
  /**
   * Returns when the answer was read: milliseconds since 1970. `answer.dataUpdatedAt` would render the page again for
   * each change of an xApp that it does not show.
   */
  readAt: () => number
  /** Changes that wait for the reader, such as "3 new, 1 gone"; null: none. */
  pending: string | null
  show: () => void
  /** Whether the list with these filters is read: what changes after that is heard. */
  isReady: boolean
}

/**
 * Reads a page of the list and keeps it up to date. The stream begins with the first change that the page does not
 * contain, and goes on while other pages with the same filters are shown. A changed row changes in its place, and takes
 * another place where what the list is sorted by has changed. While `isBusy` says that the reader is at work in the
 * table, new rows, rows that are gone and other places wait, unless no row moves, or it is the reader who removed a row.
 */
export function useLiveList({ query, filters, isBusy, onGone }: LiveListOptions): LiveList {
  const client = useQueryClient()
  const waiting = useRef(nothingPending(NO_ROWS))
  const [pending, setPending] = useState<{ shown: PendingChanges['shown']; text: string | null }>({
    shown: NO_ROWS,
    text: null,
  })
  const reads = useRef(0)
  const timers = useRef(new Map<string, ReturnType<typeof setTimeout>>())
  const later = useCallback((name: string, milliseconds: number, run: () => void): void => {
    if (timers.current.has(name)) return
    const timer = setTimeout(() => {
      timers.current.delete(name)
      run()
    }, milliseconds)
    timers.current.set(name, timer)
  }, [])
  useEffect(() => {
    const running = timers.current
    return () => running.forEach((timer) => clearTimeout(timer))
  }, [])
  const underWay = useRef(new Set<Map<string, XApp>>())
  /** Reads the list. Rows that change meanwhile are taken over: the answer may be older. */
  const queryFn = async ({ signal }: { signal: AbortSignal }): Promise<XAppsRead> => {
    const changed = new Map<string, XApp>()
    underWay.current.add(changed)
    try {
      const page = await readXApps(query, signal)
      return [...changed.values()].reduce(withChange, page)
    } finally {
      underWay.current.delete(changed)
    }
  }
  // Only the page that is shown hears of changes: one that is shown again is read again.
  const list = xappsQuery(query)
  const reading = { ...list, queryFn, staleTime: 0 }
  const answer = useQuery(reading)
  const shownPage = client.getQueryData(list.queryKey)
  const readCounts = (): void => void client.invalidateQueries({ queryKey: ['xapps', 'facets'] })
  const wait = (change: (before: PendingChanges) => PendingChanges): void => {
    const shown = client.getQueryData(list.queryKey)?.content ?? NO_ROWS
    const isCurrent = haveSameRows(waiting.current.shown, shown)
    const next = change(isCurrent ? waiting.current : nothingPending(shown))
    waiting.current = next
    const text = isBusy() ? pendingText(next) : null
    setPending((last) => (last.text === text && last.shown === next.shown ? last : { shown: next.shown, text }))
  }
  const show = (): void => {
    wait(({ shown }) => nothingPending(shown))
    void client.invalidateQueries({ queryKey: ['xapps', 'list'] })
  }
  /** Shows the list as it is now, or says how it differs if rows that the reader is at work with would move. */
  const readAgain = async (isMissed: boolean): Promise<void> => {
    reads.current += 1
    const number = reads.current
    try {
      // A key of its own: an answer that is under way may be older than the change.
      const next = await client.query({ ...reading, queryKey: [...list.queryKey, `${number}`], gcTime: 0 })
      if (number !== reads.current) return
      takeOutRemoved(next.content)
      const shown = client.getQueryData(list.queryKey)?.content ?? NO_ROWS
      if (isBusy() && !startsWith(next.content, shown)) {
        wait((before) => ({ ...pendingWith(before, next.content), isOutdated: isMissed || before.isOutdated }))
        return
      }
      client.setQueryData(list.queryKey, next)
      wait(() => nothingPending(next.content))
    } catch (error: unknown) {
      // After what the shell says for the whole page, this is called again. Any other refusal belongs to the list:
      // read there, it stands in its place, or a page that is gone is left.
      if (isSaidOnce(error)) return
      if (isBusy()) wait((before) => ({ ...before, isOutdated: before.gone.size === 0 }))
      else show()
    }
  }
  const onChange = (change: Change): void => {
    const { type, record } = change
    later('counts', COUNT_AGAIN_MILLISECONDS, readCounts)
    const shown = client.getQueryData(list.queryKey)?.content ?? NO_ROWS
    const isSortedAnew = type === 'modified' && sortsAnew(shown, record, query.sort)
    if (type === 'deleted' && removedHere.get().has(record.uid)) takeOut(record.uid)
    else client.setQueryData(list.queryKey, (page) => page && withChange(page, record))
    for (const changed of underWay.current) changed.set(record.uid, record)
    if (type === 'modified') {
      if (isSortedAnew) later('list', READ_AGAIN_MILLISECONDS, () => void latest.current.readAgain(false))
      return
    }
    if (type === 'deleted') onGone(record.uid)
    wait((before) => pendingAfter(before, change))
    later('list', READ_AGAIN_MILLISECONDS, () => void latest.current.readAgain(false))
  }
  const takeOut = (uid: string): void => {
    const page = client.getQueryData(list.queryKey)
    if (page?.content.some((row) => row.uid === uid) !== true) return
    const content = page.content.filter((row) => row.uid !== uid)
    const isCurrent = haveSameRows(waiting.current.shown, page.content)
    if (isCurrent) waiting.current = { ...waiting.current, shown: content, next: null }
    client.setQueryData(list.queryKey, { ...page, content, total_count: page.total_count - 1 })
    // Another page follows, or what is said of an empty list.
    if (content.length === 0) show()
  }
  /** Takes out what this tab removed: a list that was read a moment before may have brought it back. */
  const takeOutRemoved = (next: readonly XApp[]): void => {
    const left = new Set(next.map(({ uid }) => uid))
    for (const { uid } of client.getQueryData(list.queryKey)?.content ?? NO_ROWS)
      if (removedHere.get().has(uid) && !left.has(uid)) takeOut(uid)
  }
  const onMissed = (): void => {
    readCounts()
    void readAgain(true)
  }
  const latest = useRef({ readAgain, onMissed })
  useEffect(() => {
    latest.current = { readAgain, onMissed }
  })
  useEffect(() => onReconnect(() => latest.current.onMissed()), [])
  const asked = queryText(filters)
  const [start, setStart] = useState<{ asked: string; lastEventId: string } | null>(null)
  const isRead = answer.data !== undefined && !answer.isPlaceholderData && !answer.isFetching
  if (start !== null && start.asked !== asked) setStart(null)
  else if (start === null && isRead) setStart({ asked, lastEventId: answer.data.lastEventId })
  const isReady = start?.asked === asked
  useChanges({
    query: { ...filters, fields: 'summary' },
    enabled: isReady,
    lastEventId: start?.lastEventId ?? '',
    onChange,
    onReset: onMissed,
  })
  const isOfShown = shownPage !== undefined && haveSameRows(pending.shown, shownPage.content)
  const readAt = (): number => client.getQueryState(list.queryKey)?.dataUpdatedAt ?? 0
  return { answer, readAt, pending: isOfShown ? pending.text : null, show, isReady }
}

/** Returns whether the row of the change is shown, and what the list is sorted by is another value now. */
function sortsAnew(rows: readonly XApp[], record: Partial<XApp> & { uid: string }, sort: Query[string]): boolean {
  const before = rows.find(({ uid }) => uid === record.uid)
  if (before === undefined || typeof sort !== 'string' || !(sort in record)) return false
  return before[sort as keyof XApp] !== record[sort as keyof XApp]
}

function withChange(page: XAppsRead, record: XApp): XAppsRead {
  const content = withChangedRow(page.content, record)
  return content === page.content ? page : { ...page, content: [...content] }
}
