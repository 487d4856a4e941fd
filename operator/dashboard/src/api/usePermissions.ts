import { queryOptions, useQuery } from '@tanstack/react-query'

import { request } from '~/api/client'
import { connection } from '~/api/connection'
import { Problem } from '~/lib/problem'
import { queryText } from '~/lib/query'
import { refused, rightOf, type Action, type Permission, type Right } from '~/lib/rights'
import { useStore } from '~/lib/useStore'

const STALE_MILLISECONDS = 30_000
const NOT_FOUND = 404

export function permissionsQuery(namespace?: string, name?: string) {
  return queryOptions({
    queryKey: ['permissions', { namespace, name }],
    staleTime: STALE_MILLISECONDS,
    queryFn: async ({ signal }): Promise<readonly Permission[]> => {
      try {
        const response = await request(`/api/permissions${queryText({ namespace, name })}`, { signal })
        const { rights } = (await response.json()) as { rights: Permission[] }
        return rights
      } catch (error) {
        // An older gateway: every action is on, and a refusal comes with the request.
        if (error instanceof Problem && error.status === NOT_FOUND) return []
        throw error
      }
    },
    // A right that somebody asked for: its button works as soon as the administrator has given it.
    refetchInterval: ({ state }) => state.data?.some(({ allowed }) => !allowed) === true && STALE_MILLISECONDS,
  })
}

const WRITES = new Set<Action>([
  'deploy',
  'upload',
  'createNamespace',
  'upgrade',
  'configure',
  'rollback',
  'act',
  'uninstall',
  'proxyCreate',
  'proxyUpdate',
  'proxyPatch',
  'proxyDelete',
  'addRepository',
  'storeCredentials',
  'changeRepository',
  'removeRepository',
  'deleteChart',
  'adopt',
])

export interface Permissions {
  /** Returns whether the caller may do this here, and the gateway is there to do it. */
  right: (action: Action) => Right
  isLoading: boolean
}

/** What the caller may do in a namespace, or with one xApp of it. Until that is known, everything is allowed. */
export function usePermissions(namespace?: string, name?: string): Permissions {
  const { data = [], isPending } = useQuery(permissionsQuery(namespace, name))
  const isOnline = useStore(connection, ({ state }) => state === 'online')
  return {
    isLoading: isPending,
    right: (action) =>
      !isOnline && WRITES.has(action)
        ? refused('Not connected: wait until the gateway answers again')
        : rightOf(data, action, namespace),
  }
}
