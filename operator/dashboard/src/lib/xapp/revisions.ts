/** The revisions of a release: which ones a history has, and what is known about them. */

import type { Revision, XApp } from '~/lib/xapp/types'

interface HistoryPage {
  page: number
  last_page: number
  /** Newest first. */
  content: readonly { revision: number }[]
}

/** Returns whether a revision is on this page of the history, may be on another one, or is nowhere. */
export function placeOfRevision(
  revision: number,
  { page, last_page, content }: HistoryPage,
): 'here' | 'elsewhere' | 'nowhere' {
  if (content.some((row) => row.revision === revision)) return 'here'
  const newest = content.at(0)?.revision
  const oldest = content.at(-1)?.revision
  if (newest === undefined || oldest === undefined) return 'nowhere'
  const isOnNewerPage = revision > newest && page > 1
  const isOnOlderPage = revision < oldest && page < last_page
  return isOnNewerPage || isOnOlderPage ? 'elsewhere' : 'nowhere'
}

/** Returns why a revision that somebody asked about cannot be rolled back to by now; null if it can. */
export function whyNoTarget(revision: number, { history, release }: Pick<XApp, 'history' | 'release'>): string | null {
  if (release.revision === revision) return `Revision ${revision} is in force by now.`
  if (history.some((each) => each.revision === revision)) return null
  return `Revision ${revision} is no longer in the history: only the newest revisions are kept.`
}

/** Returns what is known against a revision as one to roll back to; null if nothing is. */
export function revisionDoubt(revision: number, history: readonly Revision[]): string | null {
  const found = history.find((each) => each.revision === revision)
  const status = found?.status ?? ''
  if (status === 'failed') return 'It never worked: Helm could not deploy it.'
  if (status.startsWith('pending')) return 'It never worked: its deployment did not end.'
  if (found?.wasHealthy === false)
    return 'It never worked: it was not healthy at any time, or failed soon after it was.'
  return null
}

/**
 * Returns what a row of the history says of the health of a revision; null if Helm's status says it, or nobody does.
 * A stalled xApp waits for its health no longer.
 */
export function healthRemark(
  { revision, status, wasHealthy }: Pick<Revision, 'revision' | 'status' | 'wasHealthy'>,
  inForce: number | null,
  isStalled: boolean,
): string | null {
  if (wasHealthy !== false || status === 'failed') return null
  return revision === inForce && !isStalled ? 'not healthy yet' : 'never healthy'
}
