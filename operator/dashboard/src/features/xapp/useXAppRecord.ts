import { useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'

import { useChanges } from '~/api/changes'
import type { XAppId } from '~/api/queries/xappDetails'
import { xappQuery } from '~/api/queries/xapps'
import type { XAppDetails } from '~/features/xapp/openXApp'
import { recordReader } from '~/features/xapp/recordReader'
import { Problem } from '~/lib/problem'

const NOT_FOUND = 404
// Below 30 seconds, so that the age of the record shows only when it cannot be read.
const MISSED_CHANGES_MILLISECONDS = 25_000

interface Gone {
  uid: string
  at: Date
}

/** Reads the record, follows its changes, and keeps the last state of an xApp that is uninstalled meanwhile. */
export function useXAppRecord(id: XAppId): { query: UseQueryResult<XAppDetails>; goneAt: Date | null } {
  const client = useQueryClient()
  const [gone, setGone] = useState<Gone | null>(null)
  const record = xappQuery(id.namespace, id.name)
  // The stream tells of changes; reading now and then is for what a stream can miss.
  const query = useQuery({ ...record, refetchInterval: MISSED_CHANGES_MILLISECONDS })
  const { data, error, errorUpdatedAt } = query
  const [{ readChanged, readAll }] = useState(() => recordReader(client, id))
  useChanges({
    query: { namespace: id.namespace, name: id.name, fields: 'summary' },
    onReset: readAll,
    onChange: ({ type, record: changed }) => {
      if (type === 'deleted') {
        setGone({ uid: changed.uid, at: new Date() })
        return
      }
      // A summary has no chart and no Services: those stay until the record is read.
      client.setQueryData(record.queryKey, (known) => (known?.uid === changed.uid ? { ...known, ...changed } : known))
      readChanged()
    },
  })
  const isMissing = error instanceof Problem && error.status === NOT_FOUND
  if (data === undefined) return { query, goneAt: null }
  if (gone?.uid === data.uid) return { query, goneAt: gone.at }
  return { query, goneAt: isMissing ? new Date(errorUpdatedAt) : null }
}
