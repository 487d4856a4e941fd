import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'

import { xappQuery, type XApp } from '~/api/queries/xapps'
import { inBatches } from '~/lib/inBatches'
import { Problem } from '~/lib/problem'

const AT_ONCE = 6
const READ_AGAIN_MILLISECONDS = 5000
const STATUS_NOT_FOUND = 404
const NONE: ReadonlySet<string> = new Set()

/**
 * Returns the uids of those xApps that exist no more. `left` are those that the list has lost: they are gone, or only do
 * not match its filters any more, as one that is being uninstalled. These are read.
 */
export function useGone(xapps: readonly XApp[], left: ReadonlySet<string>): ReadonlySet<string> {
  const client = useQueryClient()
  const asked = xapps.filter(({ uid }) => left.has(uid))
  const { data } = useQuery({
    queryKey: ['xapps', 'gone', asked.map(({ uid }) => uid)],
    enabled: asked.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data?.size === asked.length ? false : READ_AGAIN_MILLISECONDS),
    queryFn: async (): Promise<ReadonlySet<string>> => {
      const gone = new Set<string>()
      await inBatches(
        asked,
        AT_ONCE,
        async ({ namespace, name, uid }) => {
          const record = await client.query({ ...xappQuery(namespace, name), staleTime: 0 })
          if (record.uid !== uid) gone.add(uid)
        },
        ({ uid }, error) => {
          if (error instanceof Problem && error.status === STATUS_NOT_FOUND) gone.add(uid)
        },
      )
      return gone
    },
  })
  return data ?? NONE
}
