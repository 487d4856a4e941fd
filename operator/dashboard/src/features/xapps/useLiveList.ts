import { useQueryClient, type QueryKey } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'

import { useChanges, type Change } from '~/api/changes'
import type { PageOf, XApp } from '~/api/queries/xapps'
import type { Query } from '~/lib/query'
import { NOTHING_PENDING, pendingAfter, pendingText, withChangedRow } from '~/lib/xapps/liveRows'

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
export function useLiveList(listKey: QueryKey, filters: Query, isBusy: () => boolean): LiveList {
  const client = useQueryClient()
  const [pending, setPending] = useState(NOTHING_PENDING)
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
    setPending(NOTHING_PENDING)
    void client.invalidateQueries({ queryKey: ['xapps', 'list'] })
  }
  const onChange = (change: Change): void => {
    later('counts', COUNT_AGAIN_MILLISECONDS, readCounts)
    if (change.type === 'modified') {
      client.setQueryData<PageOf<XApp>>(listKey, (page) => changedPage(page, change.record))
      return
    }
    setPending((before) => pendingAfter(before, change))
    if (!isBusy())
      later('list', READ_AGAIN_MILLISECONDS, () => {
        if (!isBusy()) show()
      })
  }
  useChanges({
    query: { ...filters, fields: 'summary' },
    onChange,
    onReset: () => {
      show()
      readCounts()
    },
  })
  return { pending: pendingText(pending), show }
}

function changedPage(page: PageOf<XApp> | undefined, record: XApp): PageOf<XApp> | undefined {
  if (page === undefined) return page
  const content = withChangedRow(page.content, record)
  return content === page.content ? page : { ...page, content: [...content] }
}
