import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'

import { configQuery, type XAppConfiguration } from '~/api/queries/values'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { useHealth } from '~/features/xapp/useHealth'
import { useLastLines } from '~/features/xapp/useLastLines'
import { findCause } from '~/lib/xapp/cause'
import { useDelayed } from '~/ui/useDelayed'

const WAIT_MILLISECONDS = 2000

/** The configuration of the open xApp, with its addresses. */
export function useConfiguration(): UseQueryResult<XAppConfiguration> {
  const { id, goneAt } = useOpenXApp()
  return useQuery({ ...configQuery(id.namespace, id.name), enabled: goneAt === null })
}

/**
 * Returns whether the first answers are still on their way that decide how high the panels are: shown one by one, they
 * would push away what is read or pressed. After two seconds the page shows what it has.
 */
export function useOverviewReading(): boolean {
  const { record } = useOpenXApp()
  const health = useHealth()
  const lastLines = useLastLines(findCause(record, health.data)?.culprit ?? null)
  const configuration = useConfiguration()
  const [isShown, setShown] = useState(false)
  const isReading = [health, lastLines, configuration].some(({ isLoading }) => isLoading)
  const isLate = useDelayed(isReading, WAIT_MILLISECONDS)
  if (!isShown && (!isReading || isLate)) setShown(true)
  return !isShown
}
