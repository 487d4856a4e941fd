import { curlCommand, kubectl } from '~/lib/commands'
import { apiPath } from '~/lib/query'

/** The commands that have a repository read again. `now` tells the request from an earlier one. */
export function refreshCommands(
  { namespace, name }: { namespace: string; name: string },
  now: string,
): { curl: string; kubectl: string } {
  const annotation = `xapp-operator.io/reconcile-at=${now}`
  return {
    curl: curlCommand({ method: 'POST', path: apiPath('api', 'repositories', namespace, name, 'refresh') }),
    kubectl: kubectl(['annotate', 'chartrepository', name, '-n', namespace, annotation, '--overwrite']),
  }
}
