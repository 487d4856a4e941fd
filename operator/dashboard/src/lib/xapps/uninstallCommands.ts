import { curlCommand, kubectl } from '~/lib/commands'
import { ifMatch } from '~/lib/ifMatch'

/** The commands that uninstall these xApps: one curl each, and one kubectl for each namespace. */
export function uninstallCommands(xapps: readonly { namespace: string; name: string; uid: string }[]): {
  curl: string
  kubectl: string
} {
  const byNamespace = new Map<string, string[]>()
  for (const { namespace, name } of xapps) byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), name])
  return {
    curl: xapps
      .map(({ namespace, name, uid }) =>
        curlCommand({
          method: 'DELETE',
          path: '/api/deployment/xapp',
          headers: ifMatch({ uid, generation: null }),
          json: { name, namespace },
        }),
      )
      .join('\n'),
    kubectl: [...byNamespace]
      .map(([namespace, names]) => kubectl(['delete', 'xapp', ...names, '-n', namespace]))
      .join('\n'),
  }
}
