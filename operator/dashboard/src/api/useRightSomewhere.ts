import { useQuery } from '@tanstack/react-query'

import { namespacesQuery } from '~/api/queries/namespaces'
import { permissionsQuery } from '~/api/usePermissions'
import { ALLOWED, rightOf, type Action, type Right } from '~/lib/rights'

/**
 * The right to do something in a namespace; without one, in any that the caller knows: the page that follows asks for
 * the namespace. Until that is known, and while the gateway is away, such a page can be opened.
 */
export function useRightSomewhere(action: Action, namespace?: string): Right {
  const { data: permissions = [] } = useQuery(permissionsQuery(namespace))
  const right = rightOf(permissions, action, namespace)
  const isAsked = namespace === undefined && !right.allowed
  const { data: found } = useQuery({ ...namespacesQuery('', action), enabled: isAsked })
  // Who may not list namespaces gets those with xApps only. Without any, the form tells.
  const isPossible = found === undefined || found.total_count === 0 || found.content.some(({ allowed }) => allowed)
  return isAsked && isPossible ? ALLOWED : right
}
