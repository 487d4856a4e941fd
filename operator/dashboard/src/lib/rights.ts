/** What the caller may do, in words. */

export interface MissingRight {
  verb: string
  /** API group; empty for the core group. */
  group: string
  resource: string
  subresource: string | null
}

/** Whether an action is possible now, and otherwise why not. */
export interface Right {
  allowed: boolean
  reason: string | null
}

export const ALLOWED: Right = { allowed: true, reason: null }

export function refused(reason: string): Right {
  return { allowed: false, reason }
}

/** Returns the first refusal, or ALLOWED. */
export function allOf(...rights: readonly (Right | null | undefined)[]): Right {
  return rights.find((right) => right?.allowed === false) ?? ALLOWED
}

export const ACTIONS = [
  'list',
  'view',
  'deploy',
  'upload',
  'listNamespaces',
  'createNamespace',
  'upgrade',
  'configure',
  'rollback',
  'act',
  'uninstall',
  'logs',
  'events',
  'release',
  'proxy',
  'proxyCreate',
  'proxyUpdate',
  'proxyPatch',
  'proxyDelete',
  'listRepositories',
  'viewRepository',
  'addRepository',
  'storeCredentials',
  'changeRepository',
  'removeRepository',
  'listCharts',
  'viewChart',
  'deleteChart',
  'listServices',
  'adopt',
] as const

export type Action = (typeof ACTIONS)[number]

/** One row of GET /api/permissions. */
export interface Permission {
  action: string
  allowed: boolean
  missing: readonly MissingRight[]
}

/** Returns the right to an action. What the gateway does not tell is allowed: a refusal then comes with the request. */
export function rightOf(permissions: readonly Permission[], action: Action, namespace: string | undefined): Right {
  const found = permissions.find((permission) => permission.action === action)
  if (found === undefined || found.allowed) return ALLOWED
  return refused(missingRightsText(found.missing, namespace))
}

/** Returns for example "Needs: get, delete xapps in ric-xapps; list pods in ric-xapps". */
export function missingRightsText(missing: readonly MissingRight[], namespace?: string): string {
  if (missing.length === 0) return 'You are not allowed to do this.'
  const verbs = new Map<string, string[]>()
  for (const right of missing) {
    const resource = resourceText(right, namespace)
    verbs.set(resource, [...(verbs.get(resource) ?? []), right.verb])
  }
  return `Needs: ${[...verbs].map(([resource, all]) => `${all.join(', ')} ${resource}`).join('; ')}`
}

const CLUSTER_WIDE = new Set(['namespaces', 'nodes'])

function resourceText({ resource, subresource }: MissingRight, namespace: string | undefined): string {
  const name = subresource === null ? resource : `${resource}/${subresource}`
  if (CLUSTER_WIDE.has(resource)) return `${name} in the whole cluster`
  return namespace === undefined ? name : `${name} in ${namespace}`
}
