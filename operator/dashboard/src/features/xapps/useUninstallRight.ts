import { useQueries } from '@tanstack/react-query'

import { connection } from '~/api/connection'
import { permissionsQuery } from '~/api/usePermissions'
import type { XApp } from '~/api/queries/xapps'
import { ALLOWED, refused, rightOf, type Right } from '~/lib/rights'
import { useStore } from '~/lib/useStore'

const NAMED_MAX = 10

/** Returns whether the caller may uninstall at least one of the xApps; what is refused later has a result of its own. */
export function useUninstallRight(xapps: readonly XApp[]): Right {
  const namespaces = [...new Set(xapps.map(({ namespace }) => namespace))]
  const isOnline = useStore(connection, ({ state }) => state === 'online')
  const rights = useQueries({
    queries: namespaces.map((namespace) => permissionsQuery(namespace)),
    combine: (results) => results.map(({ data = [] }, index) => rightOf(data, 'uninstall', namespaces[index])),
  })
  // A Role may name single xApps. Ten requests tell enough: what is refused later has a result of its own.
  const refusedIn = namespaces.filter((_, index) => rights[index]?.allowed === false)
  const named = useQueries({
    queries: xapps
      .filter(({ namespace }) => refusedIn.includes(namespace))
      .slice(0, NAMED_MAX)
      .map(({ namespace, name }) => permissionsQuery(namespace, name)),
    combine: (results) =>
      results.flatMap(({ data }) => (data === undefined ? [] : [rightOf(data, 'uninstall', undefined)])),
  })
  if (!isOnline) return refused('Not connected: wait until the gateway answers again')
  const all = named.length > 0 ? [...rights, ...named] : rights
  return all.find(({ allowed }) => allowed) ?? rights[0] ?? ALLOWED
}
