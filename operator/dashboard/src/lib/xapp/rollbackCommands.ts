import { curlCommand, kubectl } from '~/lib/commands'
import { apiPath } from '~/lib/query'

import { ifMatch } from '~/lib/ifMatch'

interface Target {
  namespace: string
  name: string
  uid: string
}

/** The commands that roll an xApp back. `now` tells the request from an earlier one for the same revision. */
export function rollbackCommands(
  { namespace, name, uid }: Target,
  revision: number,
  now: string,
): { curl: string; kubectl: string } {
  return {
    curl: curlCommand({
      method: 'POST',
      path: apiPath('api', 'xapps', namespace, name, 'rollback'),
      headers: ifMatch({ uid, generation: null }),
      json: { revision },
    }),
    kubectl: annotateCommand({ namespace, name, uid }, 'rollback-to', `${revision}@${now}`),
  }
}

/** A patch of an annotation of ours. With the uid, the API server refuses it for another xApp that has the name by then. */
export function annotateCommand({ namespace, name, uid }: Target, key: string, value: string): string {
  const merge = { metadata: { uid, annotations: { [`xapp-operator.io/${key}`]: value } } }
  return kubectl(['patch', 'xapp', name, '-n', namespace, '--type', 'merge', '-p', JSON.stringify(merge)])
}
