import { curlCommand, kubectl } from '~/lib/commands'

/** The commands that uninstall these xApps: one curl each, and one kubectl for each namespace. */
export function uninstallCommands(xapps: readonly { namespace: string; name: string }[]): {
  curl: string
  kubectl: string
} {
  const byNamespace = new Map<string, string[]>()
  for (const { namespace, name } of xapps) byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), name])
  return {
    curl: xapps
      .map(({ namespace, name }) =>
        curlCommand({ method: 'DELETE', path: '/api/deployment/xapp', json: { name, namespace } }),
      )
      .join('\n'),
    kubectl: [...byNamespace]
      .map(([namespace, names]) => kubectl(['delete', 'xapp', ...names, '-n', namespace]))
      .join('\n'),
  }
}
