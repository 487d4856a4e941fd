import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'

import { removalQuery } from '~/api/queries/xappDetails'
import type { XApp } from '~/api/queries/xapps'
import { inBatches } from '~/lib/inBatches'
import { describeError } from '~/lib/problem'
import type { RemovalPreview } from '~/lib/xapp/removal'

/** What uninstalling one xApp would remove, or why that is not known. */
export type Removal = { preview: RemovalPreview } | { unknown: string }

const AT_ONCE = 6
const NONE: readonly XApp[] = []

/** Asks what uninstalling each of several xApps would remove. Returns what is known so far, by uid. */
export function useRemovals(xapps: readonly XApp[]): ReadonlyMap<string, Removal> {
  const client = useQueryClient()
  const [removals, setRemovals] = useState<ReadonlyMap<string, Removal>>(new Map())
  const [asked] = useState(xapps.length > 1 ? xapps : NONE)
  useEffect(() => {
    const ending = new AbortController()
    const note = ({ uid }: XApp, removal: Removal): void => {
      if (!ending.signal.aborted) setRemovals((known) => new Map(known).set(uid, removal))
    }
    void inBatches(
      asked,
      AT_ONCE,
      async (xapp) => {
        if (!ending.signal.aborted) note(xapp, { preview: await client.query(removalQuery(xapp)) })
      },
      (xapp, error) => {
        if (error !== null) note(xapp, { unknown: describeError(error).detail })
      },
    )
    return () => ending.abort()
  }, [asked, client])
  return removals
}
