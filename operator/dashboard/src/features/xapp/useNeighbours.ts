import { useQuery } from '@tanstack/react-query'

import type { XAppId } from '~/api/queries/xappDetails'
import { xappsQuery } from '~/api/queries/xapps'
import { listedXApps, type ListedXApps, type XAppKey } from '~/lib/listedXApps'
import { useStore } from '~/lib/useStore'

export interface Neighbour {
  key: XAppKey
  /** The page of the list that it is on: to be the listed one after the step. */
  listed: ListedXApps
}

export interface Neighbours {
  previous: Neighbour | null
  next: Neighbour | null
  /** False: the page was opened without a list. */
  isListed: boolean
}

/** Returns the xApps before and after this one in the list that was shown last, across its pages. */
export function useNeighbours({ namespace, name }: XAppId): Neighbours {
  const listed = useStore(listedXApps)
  const index = listed?.rows.findIndex((row) => row.namespace === namespace && row.name === name) ?? -1
  const isFirst = index === 0
  const isLast = listed !== null && index === listed.rows.length - 1
  const before = useNeighbourPage(listed, isFirst ? -1 : 0)
  const after = useNeighbourPage(listed, isLast ? 1 : 0)
  if (listed === null || index < 0) return { previous: null, next: null, isListed: false }
  return {
    previous: isFirst ? neighbour(before, before?.rows.at(-1)) : neighbour(listed, listed.rows[index - 1]),
    next: isLast ? neighbour(after, after?.rows[0]) : neighbour(listed, listed.rows[index + 1]),
    isListed: true,
  }
}

function neighbour(listed: ListedXApps | null, key: XAppKey | undefined): Neighbour | null {
  return listed === null || key === undefined ? null : { key, listed }
}

/** Returns the page before or after the listed one; null if there is none, or `step` is 0. */
function useNeighbourPage(listed: ListedXApps | null, step: -1 | 0 | 1): ListedXApps | null {
  const page = (listed?.search.page ?? 1) + step
  const isThere = listed !== null && step !== 0 && page >= 1 && page <= listed.lastPage
  const query = useQuery({
    ...xappsQuery({ ...listed?.search, attention: listed?.search.attention === true ? true : null, page }),
    enabled: isThere,
  })
  if (!isThere || query.data === undefined || query.isPlaceholderData) return null
  const rows = query.data.content.map(({ namespace, name }) => ({ namespace, name }))
  return { search: { ...listed.search, page }, rows, lastPage: query.data.last_page }
}
