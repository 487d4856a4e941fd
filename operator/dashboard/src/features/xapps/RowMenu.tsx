import { useNavigate } from '@tanstack/react-router'
import { ArrowRight, CircleArrowUp, Copy, Pencil, ScrollText, Terminal, Trash2, Unplug } from 'lucide-react'
import { useEffect, useRef, useState, type ReactElement } from 'react'

import type { XApp } from '~/api/queries/xapps'
import { usePermissions } from '~/api/usePermissions'
import type { Action, Right } from '~/lib/rights'
import { toast } from '~/lib/toasts'
import { visibleText } from '~/lib/visibleText'
import { changeRight } from '~/lib/xapp/changeRight'
import { currentMessage } from '~/lib/xapp/currentMessage'
import { xappCommands } from '~/lib/xapp/xappCommands'
import { CommandsDialog } from '~/ui/CommandsDialog'
import { copyText } from '~/ui/copyText'
import { OpenMenu, type MenuAction } from '~/ui/Menu'

import type { OpenRow } from './columns'
import { UninstallDialog } from './UninstallDialog'

interface RowMenuProps {
  row: OpenRow
  /** The uids that the list has lost since the menu opened. */
  left: ReadonlySet<string>
  onClose: () => void
  onUninstalled: (failed: readonly XApp[]) => void
}

/** The one menu of all rows, at the button that was pressed, and the dialogs that it opens. */
export function RowMenu({
  row: { xapp, button, isByKey },
  left,
  onClose,
  onUninstalled,
}: RowMenuProps): ReactElement | null {
  const [shown, setShown] = useState<'menu' | 'uninstall' | 'commands' | 'nothing'>('menu')
  const at = useRef(button)
  const { right } = usePermissions(xapp.namespace, xapp.name)
  const open = useOpenPage(xapp)
  useEffect(() => {
    if (shown === 'nothing') onClose()
    if (shown !== 'menu') return undefined
    // A row that is drawn again for this would cost more.
    button.setAttribute('aria-expanded', 'true')
    return () => button.removeAttribute('aria-expanded')
  }, [button, shown, onClose])
  if (shown === 'nothing') return null
  if (shown === 'uninstall')
    return <UninstallDialog xapps={[xapp]} left={left} onClose={onClose} onDone={onUninstalled} />
  if (shown === 'commands')
    return <CommandsDialog commands={xappCommands(xapp, new Date().toISOString())} onClose={onClose} />
  // A menu closes after what was chosen: a dialog that opens then stays.
  const close = (): void => setShown((now) => (now === 'menu' ? 'nothing' : now))
  const change = (action: Action): Right => changeRight(xapp, right(action), action)
  return (
    <OpenMenu
      label={`Actions of ${visibleText(xapp.name)}`}
      items={menuItems({ xapp, see: right, change, open, openDialog: setShown })}
      at={{ button: at, focus: isByKey ? 'first' : true, onClose: close }}
    />
  )
}

async function copy(text: string): Promise<void> {
  toast((await copyText(text)) ? 'Copied' : 'Not copied: the browser allows no copies here')
}

type OpenPage = Record<'overview' | 'logs' | 'values' | 'upgrade' | 'adopt', () => void>

function useOpenPage({ namespace, name, release }: XApp): OpenPage {
  const navigate = useNavigate()
  const params = { namespace, name }
  const search = { namespace, releaseName: release.name ?? name, adopt: true }
  return {
    overview: () => void navigate({ to: '/xapps/$namespace/$name', params }),
    logs: () => void navigate({ to: '/xapps/$namespace/$name/logs', params }),
    values: () => void navigate({ to: '/xapps/$namespace/$name/values', params }),
    upgrade: () => void navigate({ to: '/xapps/$namespace/$name/upgrade', params }),
    adopt: () => void navigate({ to: '/deploy', search }),
  }
}

interface MenuItems {
  xapp: XApp
  see: (action: Action) => Right
  change: (action: Action) => Right
  open: OpenPage
  openDialog: (dialog: 'uninstall' | 'commands') => void
}

const ICON = { size: 16, 'aria-hidden': true } as const

function menuItems({ xapp, see, change, open, openDialog }: MenuItems): (MenuAction | 'separator')[] {
  const adopt: MenuAction = {
    id: 'adopt',
    label: 'Adopt...',
    icon: <Unplug {...ICON} />,
    right: change('adopt'),
    onAction: open.adopt,
  }
  const message = xapp.ready ? '' : (currentMessage(xapp) ?? '')
  const copyMessage: MenuAction = {
    id: 'message',
    label: 'Copy the reason',
    icon: <Copy {...ICON} />,
    onAction: () => void copy(message),
  }
  return [
    { id: 'open', label: 'Open', icon: <ArrowRight {...ICON} />, onAction: open.overview },
    { id: 'logs', label: 'Logs', icon: <ScrollText {...ICON} />, right: see('logs'), onAction: open.logs },
    'separator',
    ...(xapp.source === 'labels' ? [adopt] : []),
    {
      id: 'values',
      label: 'Edit values',
      icon: <Pencil {...ICON} />,
      right: change('configure'),
      onAction: open.values,
    },
    {
      id: 'upgrade',
      label: 'Upgrade',
      icon: <CircleArrowUp {...ICON} />,
      right: change('upgrade'),
      onAction: open.upgrade,
    },
    {
      id: 'uninstall',
      label: 'Uninstall...',
      icon: <Trash2 {...ICON} />,
      right: change('uninstall'),
      isDanger: true,
      onAction: () => openDialog('uninstall'),
    },
    'separator',
    { id: 'name', label: 'Copy the name', icon: <Copy {...ICON} />, onAction: () => void copy(xapp.name) },
    ...(message === '' ? [] : [copyMessage]),
    {
      id: 'commands',
      label: 'Copy as...',
      icon: <Terminal {...ICON} />,
      description: 'curl or kubectl',
      onAction: () => openDialog('commands'),
    },
  ]
}
