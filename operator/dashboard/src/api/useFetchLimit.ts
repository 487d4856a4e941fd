import { useQuery } from '@tanstack/react-query'

import { aboutQuery } from '~/api/queries/session'

/** Seconds that helm gets to render a chart. No setting of the gateway changes it. */
export const RENDER_SECONDS = 60

/** How many seconds a repository gets to deliver an index or an archive, as the gateway is set. */
export function useFetchLimit(): number | undefined {
  return useQuery(aboutQuery).data?.limits?.fetchSeconds
}

/** How many seconds it takes at most to read a chart of a repository and to render it. */
export function useRenderLimit(): number | undefined {
  const fetchSeconds = useFetchLimit()
  return fetchSeconds === undefined ? undefined : fetchSeconds + RENDER_SECONDS
}
