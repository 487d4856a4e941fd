import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'

import { useChanges, type Change } from '~/api/changes'
import { onReconnect } from '~/api/connection'
import type { PageOf, XApp, xappsQuery } from '~/api/queries/xapps'
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
/** How long a list waits for its stream: a proxy may hold that back. It is read again when the stream begins later. */
const STREAM_MILLISECONDS = 300
const NO_ROWS: readonly XApp[] = []

interface LiveListOptions {
  list: ReturnType<typeof xappsQuery>
  filters: Query
  /** Whether the reader is at work in the table. */
  isBusy: () => boolean
  /** An xApp is gone, or does not match the filters any more. */
  onGone: (uid: string) => void
}

export interface LiveList {
  /** Changes that wait for the reader, such as "3 new, 1 gone"; null: none. */
  pending: string | null
  show: () => void
  /** False until the list is to be read: what changes after that is heard. */
  isReady: boolean
}

/**
 * Keeps a page of the list up to date. The stream begins before the list is read: then one read is enough. A changed row
 * changes in its place. While `isBusy` says that the reader is at work in the table, new rows and rows that are gone
 * wait, unless no row moves, or it is the reader who removed a row.
 */
export function useLiveList({ list, filters, isBusy, onGone }: LiveListOptions): LiveList {
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
    const read = reads.current
    try {
      // A key of its own: an answer that is under way may be older than the change.
      const next = await client.query({ ...list, queryKey: [...list.queryKey, `${read}`], staleTime: 0, gcTime: 0 })
      if (read !== reads.current) return
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
    if (type === 'deleted' && removedHere.get().has(record.uid)) takeOut(record.uid)
    else client.setQueryData(list.queryKey, (page) => changedPage(page, record))
    if (type === 'modified') return
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
  const [ready, setReady] = useState<string | null>(null)
  const isReady = ready === asked
  const begin = useCallback((): void => {
    // What is known from an earlier visit may have changed since.
    for (const what of ['list', 'facets'])
      void client.invalidateQueries({ queryKey: ['xapps', what], refetchType: 'none' })
    setReady(asked)
  }, [client, asked])
  useEffect(() => {
    if (isReady) return
    const timer = setTimeout(begin, STREAM_MILLISECONDS)
    return () => clearTimeout(timer)
  }, [isReady, begin])
  useChanges({
    query: { ...filters, fields: 'summary' },
    onChange,
    onReset: isReady ? onMissed : begin,
    onInterrupted: isReady ? undefined : begin,
  })
  const isOfShown = shownPage !== undefined && haveSameRows(pending.shown, shownPage.content)
  return { pending: isOfShown ? pending.text : null, show, isReady }
}

function changedPage(page: PageOf<XApp> | undefined, record: XApp): PageOf<XApp> | undefined {
  if (page === undefined) return page
  const content = withChangedRow(page.content, record)
  return content === page.content ? page : { ...page, content: [...content] }
}
