import { Terminal } from 'lucide-react'
import { useState, type ReactElement } from 'react'

import type { ButtonProps } from '~/ui/Button'
import { Code } from '~/ui/Code'
import { Dialog } from '~/ui/Dialog'
import { MenuButton } from '~/ui/Menu'
import { copyText } from '~/ui/copyText'
import { toast } from '~/lib/toasts'

export type Command = string | { none: string }

export interface CopyAsProps extends Pick<ButtonProps, 'size' | 'variant'> {
  /** Commands that do the same as the page, or why there is none. */
  curl: Command
  kubectl: Command
  /** Shows an icon only, with this name. */
  iconName?: string
}

/** A menu that copies what the page does as a command for a shell. */
export function CopyAs({ curl, kubectl, size, variant, iconName }: CopyAsProps): ReactElement {
  const [isShown, setShown] = useState(false)
  const copy = async (name: string, command: Command): Promise<void> => {
    if (typeof command !== 'string') return
    if (await copyText(command)) toast(`Copied as ${name}`)
    else setShown(true)
  }
  const item = (name: string, command: Command) => ({
    id: name,
    label: name,
    right: typeof command === 'string' ? undefined : { allowed: false, reason: command.none },
    onAction: () => void copy(name, command),
  })
  return (
    <>
      <MenuButton
        label={iconName ?? 'Copy as'}
        showsIconOnly={iconName !== undefined}
        icon={<Terminal size={16} aria-hidden />}
        size={size}
        variant={variant}
        items={[
          item('curl', curl),
          item('kubectl', kubectl),
          'separator',
          { id: 'show', label: 'Show both', onAction: () => setShown(true) },
        ]}
      />
      <Dialog title="Copy as" isOpen={isShown} onClose={() => setShown(false)} width="medium">
        <CommandText name="curl" command={curl} />
        <CommandText name="kubectl" command={kubectl} />
        <p>
          Set <code>GATEWAY</code> to the address of this page and <code>TOKEN</code> to your bearer token first.
        </p>
      </Dialog>
    </>
  )
}

function CommandText({ name, command }: { name: string; command: Command }): ReactElement {
  return (
    <div>
      <h3>{name}</h3>
      {typeof command === 'string' ? <Code label={`the ${name} command`}>{command}</Code> : <p>{command.none}</p>}
    </div>
  )
}
