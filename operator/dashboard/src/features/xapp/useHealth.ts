import { useQuery, type UseQueryResult } from '@tanstack/react-query'

import type { Schemas } from '~/api/client'
import { healthQuery } from '~/api/queries/xappDetails'
import { useOpenXApp } from '~/features/xapp/openXApp'

const UNSETTLED_MILLISECONDS = 2_000
const SETTLED_MILLISECONDS = 15_000

/** The health of the open xApp, read again while the tab is in view. */
export function useHealth(): UseQueryResult<Schemas['HealthReport']> {
  const { id, goneAt, isSettled } = useOpenXApp()
  return useQuery({
    ...healthQuery(id),
    enabled: goneAt === null,
    refetchInterval: isSettled ? SETTLED_MILLISECONDS : UNSETTLED_MILLISECONDS,
  })
}
