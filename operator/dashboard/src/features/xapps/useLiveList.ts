import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'

import { useChanges, type Change } from '~/api/changes'
import { onReconnect } from '~/api/connection'
import type { PageOf, XApp, xappsQuery } from '~/api/queries/xapps'
import type { Query } from '~/lib/query'
import { haveSameRows, NOTHING_PENDING, pendingAfter, pendingText, withChangedRow } from '~/lib/xapps/liveRows'

const READ_AGAIN_MILLISECONDS = 1000
const COUNT_AGAIN_MILLISECONDS = 3000

export interface LiveList {
  /** Changes that wait for the reader, such as "3 new, 1 gone"; null: none. */
  pending: string | null
  show: () => void
}

/**
 * Keeps a page of the list up to date. A changed row changes in its place. New rows and rows that are gone wait while
 * `isBusy` says that the reader is at work in the table.
 */
export function useLiveList(list: ReturnType<typeof xappsQuery>, filters: Query, isBusy: () => boolean): LiveList {
  const client = useQueryClient()
  const [pending, setPending] = useState(NOTHING_PENDING)
  const waiting = useRef(NOTHING_PENDING)
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
  const readCounts = (): void => void client.invalidateQueries({ queryKey: ['xapps', 'facets'] })
  const show = (): void => {
    waiting.current = NOTHING_PENDING
    setPending(NOTHING_PENDING)
    void client.invalidateQueries({ queryKey: ['xapps', 'list'] })
  }
  const onChange = (change: Change): void => {
    later('counts', COUNT_AGAIN_MILLISECONDS, readCounts)
    if (change.type === 'modified') {
      client.setQueryData(list.queryKey, (page) => changedPage(page, change.record))
      return
    }
    waiting.current = pendingAfter(waiting.current, change)
    showOrWait(READ_AGAIN_MILLISECONDS)
  }
  const showOrWait = (milliseconds: number): void => {
    if (isBusy()) setPending(waiting.current)
    else
      later('list', milliseconds, () => {
        if (isBusy()) setPending(waiting.current)
        else show()
      })
  }
  /** Reads the list after changes were missed. Rows that the reader is at work with stay where they are. */
  const readMissed = async (): Promise<void> => {
    const page = await client.query({ ...list, queryKey: [...list.queryKey, 'missed'], staleTime: 0, gcTime: 0 })
    const shown = client.getQueryData(list.queryKey)
    if (shown !== undefined && isBusy() && !haveSameRows(shown.content, page.content)) {
      waiting.current = { ...waiting.current, isOutdated: true }
      setPending(waiting.current)
      return
    }
    waiting.current = NOTHING_PENDING
    setPending(NOTHING_PENDING)
    client.setQueryData(list.queryKey, page)
  }
  const onMissed = (): void => {
    readCounts()
    // A failure shows where the list itself is read, and the connection tells when to try again.
    readMissed().catch(() => undefined)
  }
  const latestOnMissed = useRef(onMissed)
  useEffect(() => {
    latestOnMissed.current = onMissed
  })
  useEffect(() => onReconnect(() => latestOnMissed.current()), [])
  useChanges({
    query: { ...filters, fields: 'summary' },
    onChange,
    onReset: onMissed,
  })
  return { pending: pendingText(pending), show }
}

function changedPage(page: PageOf<XApp> | undefined, record: XApp): PageOf<XApp> | undefined {
  if (page === undefined) return page
  const content = withChangedRow(page.content, record)
  return content === page.content ? page : { ...page, content: [...content] }
}
