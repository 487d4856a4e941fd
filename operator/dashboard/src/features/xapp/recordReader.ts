import type { QueryClient } from '@tanstack/react-query'

import { healthQuery, type XAppId } from '~/api/queries/xappDetails'
import { configQuery } from '~/api/queries/values'
import { xappQuery } from '~/api/queries/xapps'
import type { XAppDetails } from '~/features/xapp/openXApp'
import { oneAfterTheOther } from '~/lib/oneAfterTheOther'

/** However often an xApp changes: its summary comes with each change, so nothing shown is older. */
const REST_MILLISECONDS = 1000

export interface RecordReader {
  /** Reads the record; health and configuration if it tells of other ones. */
  readChanged: () => void
  /** Reads all of them: nobody knows what changed. */
  readAll: () => void
}

/** Reads an xApp again, at most one round a second. The last call is followed by a round of its own. */
export function recordReader(client: QueryClient, id: XAppId): RecordReader {
  const record = xappQuery(id.namespace, id.name)
  const health = { queryKey: healthQuery(id).queryKey, facts: healthFacts, known: '' }
  const config = { queryKey: configQuery(id.namespace, id.name).queryKey, facts: configFacts, known: '' }
  let isAllWanted = true
  const read = oneAfterTheOther(async () => {
    const isAll = isAllWanted
    isAllWanted = false
    await client.invalidateQueries({ queryKey: record.queryKey })
    const found = client.getQueryData(record.queryKey)
    const stale = [health, config].filter((part) => {
      const facts = found === undefined ? '' : JSON.stringify(part.facts(found))
      const isOther = facts !== part.known
      part.known = facts
      return isAll || isOther
    })
    await Promise.all(stale.map(({ queryKey }) => client.invalidateQueries({ queryKey })))
  }, REST_MILLISECONDS)
  return {
    readChanged: read,
    readAll: () => {
      isAllWanted = true
      read()
    },
  }
}

/** What tells of another health. Between two of these, its own interval is enough. */
function healthFacts({ uid, generation, phase, ready, health, reason, stalled, release, resources }: XAppDetails) {
  return [uid, generation, phase, ready, health, reason, stalled, release.revision, resources]
}

/** What tells of other values or addresses. */
function configFacts({ uid, generation, phase, release, services }: XAppDetails) {
  return [uid, generation, phase, release, services]
}
