import { curlCommand, kubectl } from '~/lib/commands'
import { apiPath } from '~/lib/query'
import { uninstallCommands } from '~/lib/xapps/uninstallCommands'

import { rollbackTarget } from './advice'
import { ifMatch } from '~/lib/ifMatch'
import { annotateCommand, rollbackCommands } from './rollbackCommands'
import type { XApp } from './types'

/** An action as commands, or why there is no kubectl for it. */
export interface ActionCommands {
  id: string
  label: string
  curl: string
  kubectl: string | { none: string }
}

interface CommandTarget extends Pick<XApp, 'release'> {
  name: string
  namespace: string
  uid: string
  source: 'xapp' | 'labels'
  /** Without it, nothing tells to which revision it could be rolled back. */
  history?: XApp['history']
}

const NO_XAPP = { none: 'It is known by its labels only: there is no XApp to get. Use curl.' }

/** Returns what can be done with an xApp as commands for a shell. `now` tells a request from an earlier one. */
export function xappCommands(record: CommandTarget, now: string): ActionCommands[] {
  const { name, namespace } = record
  const path = apiPath('api', 'xapps', namespace, name)
  const shown: ActionCommands[] = [
    {
      id: 'show',
      label: 'Show the xApp',
      curl: curlCommand({ method: 'GET', path, query: { pretty: true } }),
      kubectl: record.source === 'xapp' ? kubectl(['get', 'xapp', name, '-n', namespace, '-o', 'yaml']) : NO_XAPP,
    },
    {
      id: 'health',
      label: 'Show its health',
      curl: curlCommand({ method: 'GET', path: `${path}/health`, query: { pretty: true } }),
      kubectl:
        record.source === 'xapp'
          ? kubectl(['get', 'all', '-n', namespace, '-l', `xapp-operator.io/xapp=${name}`])
          : { none: 'Its objects have no label of the operator. Use curl.' },
    },
  ]
  return record.source === 'labels' ? shown : [...shown, ...changes(record, path, now)]
}

function changes(record: CommandTarget, path: string, now: string): ActionCommands[] {
  const { name, namespace, uid, release, history = [] } = record
  const headers = ifMatch({ uid, generation: null })
  const act = (action: string) => curlCommand({ method: 'POST', path: `${path}/actions`, headers, json: { action } })
  // With the uid, the API server refuses a patch of another xApp that has the name by then.
  const patch = (spec: object) => {
    const merge = JSON.stringify({ metadata: { uid }, spec })
    return kubectl(['patch', 'xapp', name, '-n', namespace, '--type', 'merge', '-p', merge])
  }
  const annotate = (key: string, value: string) => annotateCommand(record, key, value)
  const target = rollbackTarget({ release, history })
  return [
    {
      id: 'uninstall',
      label: 'Uninstall',
      ...uninstallCommands([record]),
    },
    { id: 'retry', label: 'Retry', curl: act('retry'), kubectl: annotate('retry-at', now) },
    { id: 'reconcile', label: 'Look again', curl: act('reconcile'), kubectl: annotate('reconcile-at', now) },
    { id: 'test', label: 'Run tests', curl: act('test'), kubectl: annotate('test-at', now) },
    { id: 'suspend', label: 'Suspend', curl: act('suspend'), kubectl: patch({ suspend: true }) },
    { id: 'resume', label: 'Resume', curl: act('resume'), kubectl: patch({ suspend: false }) },
    ...(target === null
      ? []
      : [
          {
            id: 'rollback',
            label: `Roll back to revision ${target}`,
            ...rollbackCommands(record, target, now),
          },
        ]),
  ]
}
