import { useQueries } from '@tanstack/react-query'
import { useEffect, useState, type ReactElement } from 'react'

import { revisionQuery, type RevisionRow, type XAppId } from '~/api/queries/xappDetails'
import type { PageOf } from '~/api/queries/xapps'
import { Problem } from '~/lib/problem'
import { placeOfRevision } from '~/lib/xapp/revisions'
import { Notice } from '~/ui/Notice'

/** What the address asks to show: one revision, or what differs between two. */
export interface AskedRevisions {
  revision: number | null
  with: number | null
}

interface Judged {
  asked: AskedRevisions
  used: AskedRevisions
  why: string
}

const STATUS_NOT_FOUND = 404
const NOTHING: AskedRevisions = { revision: null, with: null }

/**
 * Drops revisions of the address that the history does not have. `onDrop` replaces the address.
 *
 * A revision that was shown once stays, also after Helm has removed it. Returns what to show, nothing until that is
 * known, and a note about what was dropped.
 */
export function useKnownRevisions(
  id: XAppId,
  asked: AskedRevisions,
  history: PageOf<RevisionRow> | undefined,
  onDrop: (used: AskedRevisions) => void,
): { shown: AskedRevisions; note: ReactElement | null } {
  const [judged, setJudged] = useState<Judged | null>(null)
  const isNew = judged === null || !(isSame(judged.asked, asked) || isSame(judged.used, asked))
  const numbers = [...new Set([asked.revision, asked.with])].filter((number) => number !== null)
  const places = numbers.map((number) => (history === undefined ? null : placeOfRevision(number, history)))
  const reads = useQueries({
    queries: numbers.map((number, index) => ({
      ...revisionQuery(id, number),
      enabled: isNew && places[index] === 'elsewhere',
    })),
  })
  const isKnowing = numbers.some((_, index) => {
    const isRead = reads[index]?.isPending === false
    return places[index] === null || (places[index] === 'elsewhere' && !isRead)
  })
  if (isNew && !isKnowing) {
    const isUnknown = (index: number): boolean => places[index] === 'nowhere' || isNotFound(reads[index]?.error)
    setJudged({
      asked,
      ...usable(
        asked,
        numbers.filter((_, index) => isUnknown(index)),
      ),
    })
  }
  const used = isNew ? NOTHING : judged.used
  const isDropping = !isNew && !isSame(used, asked)
  useEffect(() => {
    if (isDropping) onDrop(used)
    // Once for each address: callers need not keep `onDrop`.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [isDropping])
  return { shown: used, note: isNew || judged.why === '' ? null : <Notice isLive>{judged.why}</Notice> }
}

function usable(asked: AskedRevisions, unknown: readonly number[]): Omit<Judged, 'asked'> {
  const revision = asked.revision !== null && unknown.includes(asked.revision) ? null : asked.revision
  const other = asked.with !== null && unknown.includes(asked.with) ? null : asked.with
  const used = { revision, with: revision === null || other === revision ? null : other }
  if (unknown.length > 0) {
    const names = unknown.map((number) => `revision ${number}`).join(', ')
    return { used, why: `Not in the history: ${names}. Only the newest revisions are kept.` }
  }
  const isAlone = other !== null && used.with === null
  return { used, why: isAlone ? `Not used: with=${other}. To compare, the address must name two revisions.` : '' }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Problem && error.status === STATUS_NOT_FOUND
}

function isSame(one: AskedRevisions, other: AskedRevisions): boolean {
  return one.revision === other.revision && one.with === other.with
}
