import { useQuery, type UseQueryResult } from '@tanstack/react-query'

import { lastLinesQuery } from '~/api/queries/xappDetails'
import { useOpenXApp } from '~/features/xapp/openXApp'
import type { Culprit } from '~/lib/xapp/cause'

const NOBODY = { pod: '', container: '', isPreviousRun: false, restarts: 0, lastWords: null }

/** The end of the log of the container at fault, read unless its health tells it. */
export function useLastLines(culprit: Culprit | null): UseQueryResult<string> {
  const { id, see, goneAt } = useOpenXApp()
  const { pod, container, isPreviousRun: previous, restarts, lastWords } = culprit ?? NOBODY
  return useQuery({
    ...lastLinesQuery(id, { pod, container, previous, restarts }),
    enabled: culprit?.hasRun === true && see('logs').allowed && goneAt === null && lastWords === null,
    retry: false,
  })
}
