import { QueryClient, type Query as TanStackQuery } from '@tanstack/react-query'

import { onReconnect } from '~/api/connection'
import { Problem } from '~/lib/problem'

const RETRIES = 2
const STALE_MILLISECONDS = 5_000

/** The state of the server, as the pages know it. Reads repeat after passing errors; writes never do. */
export function createQueryClient(): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: STALE_MILLISECONDS,
        networkMode: 'always',
        // What the reader looks at is kept up to date by streams and intervals, which know when the tab is in view.
        refetchOnReconnect: false,
        retry: (count, error) => count < RETRIES && error instanceof Problem && isPassing(error.status),
        retryDelay: (attempt, error) =>
          Math.max(1000 * 2 ** attempt, (error instanceof Problem ? (error.retryAfter ?? 0) : 0) * 1000),
      },
      mutations: { networkMode: 'always', retry: false },
    },
  })
  // The pages read again what they show as soon as the gateway answers again. A list whose rows somebody may be about
  // to press waits for its reader.
  onReconnect(() => void client.invalidateQueries({ predicate: (query) => !isShownList(query) }))
  return client
}

function isShownList({ queryKey: [kind, what], state }: TanStackQuery): boolean {
  return kind === 'xapps' && what === 'list' && state.status === 'success'
}

function isPassing(status: number): boolean {
  return status === 429 || status === 502 || status === 504
}
