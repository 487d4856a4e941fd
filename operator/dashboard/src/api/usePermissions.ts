import { queryOptions, useQuery } from '@tanstack/react-query'

import { request } from '~/api/client'
import { connection } from '~/api/connection'
import { Problem } from '~/lib/problem'
import { queryText } from '~/lib/query'
import { ALLOWED, refused, rightOf, type Action, type Permission, type Right } from '~/lib/rights'
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
  const whileOnline = useRightWhileOnline()
  return { isLoading: isPending, right: (action) => whileOnline(action, rightOf(data, action, namespace)) }
}

/** The same for a form that asks for the namespace: it can be filled in before that is known. */
export function usePermissionsToSend(namespace: string | undefined): Permissions {
  const permissions = usePermissions(namespace)
  const whileOnline = useRightWhileOnline()
  return namespace === undefined ? { ...permissions, right: (action) => whileOnline(action, ALLOWED) } : permissions
}

/** Returns a right; a refusal of what writes while the gateway is away. */
function useRightWhileOnline(): (action: Action, right: Right) => Right {
  const isOnline = useStore(connection, ({ state }) => state === 'online')
  return (action, right) =>
    !isOnline && WRITES.has(action) ? refused('Not connected: wait until the gateway answers again') : right
}
