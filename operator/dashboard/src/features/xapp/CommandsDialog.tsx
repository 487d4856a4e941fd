import { useState, type ReactElement } from 'react'

import { xappPath } from '~/api/queries/xappDetails'
import { useOpenXApp, type XAppDetails } from '~/features/xapp/openXApp'
import { curlCommand, kubectl } from '~/lib/commands'
import { uninstallCommands } from '~/lib/xapps/uninstallCommands'
import { ifMatch } from '~/lib/xapp/ifMatch'
import { rollbackTarget } from '~/lib/xapp/advice'
import { annotateCommand, rollbackCommands } from '~/lib/xapp/rollbackCommands'
import { Code } from '~/ui/Code'
import type { Command } from '~/ui/CopyAs'
import { Dialog } from '~/ui/Dialog'
import { Select } from '~/ui/Select'

interface Commands {
  id: string
  label: string
  curl: string
  kubectl: Command
}

const NO_XAPP: Command = { none: 'It is known by its labels only: there is no XApp to get. Use curl.' }

/** The actions of the page as commands for a shell. */
export function CommandsDialog({ onClose }: { onClose: () => void }): ReactElement {
  const { record } = useOpenXApp()
  const all = commandsOf(record, new Date().toISOString())
  const [chosen, setChosen] = useState(all[0]?.id ?? '')
  const commands = all.find(({ id }) => id === chosen)
  return (
    <Dialog title="Copy as" isOpen onClose={onClose} width="medium">
      <Select label="Action" value={chosen} onChange={setChosen} items={all.map(({ id, label }) => ({ id, label }))} />
      {commands !== undefined && (
        <>
          <h3>curl</h3>
          <Code label="the curl command">{commands.curl}</Code>
          <h3>kubectl</h3>
          {typeof commands.kubectl === 'string' ? (
            <Code label="the kubectl command">{commands.kubectl}</Code>
          ) : (
            <p>{commands.kubectl.none}</p>
          )}
        </>
      )}
      <p>
        Set <code>GATEWAY</code> to the address of this page and <code>TOKEN</code> to your bearer token first.
      </p>
    </Dialog>
  )
}

function commandsOf(record: XAppDetails, now: string): Commands[] {
  const { name, namespace } = record
  const path = xappPath(record)
  const shown: Commands[] = [
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

function changes(record: XAppDetails, path: string, now: string): Commands[] {
  const { name, namespace, uid } = record
  const headers = ifMatch({ uid, generation: null })
  const act = (action: string) => curlCommand({ method: 'POST', path: `${path}/actions`, headers, json: { action } })
  // With the uid, the API server refuses a patch of another xApp that has the name by then.
  const patch = (spec: object) => {
    const merge = JSON.stringify({ metadata: { uid }, spec })
    return kubectl(['patch', 'xapp', name, '-n', namespace, '--type', 'merge', '-p', merge])
  }
  const annotate = (key: string, value: string) => annotateCommand(record, key, value)
  const target = rollbackTarget(record)
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
