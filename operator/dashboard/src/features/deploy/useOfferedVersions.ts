import { useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'

import { versionsQuery, type ChartVersion, type Repository } from '~/api/queries/repositories'
import { Problem } from '~/lib/problem'
import type { ChoicesRead } from '~/ui/ChoicesState'

import { offeredVersions } from './offeredVersions'

const NOT_FOUND = 404
/** A range or a wildcard is no part of a version. */
const PART_OF_VERSION = /^[\w.+-]+$/

interface OfferedVersions {
  versions: readonly ChartVersion[]
  /** Of the chart. */
  total: number
  query: ChoicesRead['query']
}

/**
 * The versions of a chart that go with what is typed: of the newest that a list has room for, or else found by the
 * gateway. `repository` is null, and `chart` empty, until they are known.
 */
export function useOfferedVersions(repository: Repository | null, chart: string, typed: string): OfferedVersions {
  const { namespace = '', name = '' } = repository ?? {}
  const search = useDeferredValue(typed)
  const isKnown = repository !== null && chart !== ''
  const newest = useQuery({ ...versionsQuery(namespace, name, chart), enabled: isKnown, retry: false })
  const { content = [], total_count: total = 0 } = (isKnown ? newest.data : undefined) ?? {}
  const isSearched =
    content.length < total && PART_OF_VERSION.test(search) && content.every(({ version }) => version !== search)
  const found = useQuery({
    ...versionsQuery(namespace, name, chart, { search, per_page: 100 }),
    enabled: isSearched,
    retry: false,
  })
  const older = (isSearched ? found.data?.content : undefined) ?? []
  const error = newest.error ?? (isSearched ? found.error : null)
  return {
    versions: older.length > 0 ? withNewest(content, older, typed) : offeredVersions(content, typed),
    total,
    query: {
      isFetching: newest.isFetching || found.isFetching,
      // The name of the chart may be half typed.
      error: error instanceof Problem && error.status === NOT_FOUND ? null : error,
      refetch: () => (newest.error === null ? found : newest).refetch(),
    },
  }
}

/** Returns what was found; beside the newest ones if it is what is typed, so that another one can be chosen instead. */
function withNewest(newest: readonly ChartVersion[], found: readonly ChartVersion[], typed: string) {
  if (found.every(({ version }) => version !== typed)) return found
  const known = new Set(newest.map(({ version }) => version))
  return [...newest, ...found.filter(({ version }) => !known.has(version))]
}
