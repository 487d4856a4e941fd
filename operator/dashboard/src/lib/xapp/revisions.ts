/** Which revisions a history has, as far as one page of it tells. */

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
