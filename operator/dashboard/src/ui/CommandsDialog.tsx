import { useState, type ReactElement } from 'react'

import type { ActionCommands } from '~/lib/xapp/xappCommands'
import { Code } from '~/ui/Code'
import { Dialog } from '~/ui/Dialog'
import { Select } from '~/ui/Select'

interface CommandsDialogProps {
  commands: readonly ActionCommands[]
  onClose: () => void
}

/** Actions as commands for a shell. */
export function CommandsDialog({ commands: all, onClose }: CommandsDialogProps): ReactElement {
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
