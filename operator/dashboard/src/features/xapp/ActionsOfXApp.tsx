import { LoaderCircle, Pause, Play, RotateCcw, RotateCw, ScanSearch, Terminal, TestTubeDiagonal } from 'lucide-react'
import { useState, type ReactElement } from 'react'

import type { Right } from '~/lib/rights'
import { allOf, refused } from '~/lib/rights'
import { rollbackTarget } from '~/lib/xapp/advice'
import { xappCommands } from '~/lib/xapp/xappCommands'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { UninstallDialog } from '~/features/xapp/UninstallDialog'
import { useAct } from '~/features/xapp/useAct'
import { Button } from '~/ui/Button'
import { CommandsDialog } from '~/ui/CommandsDialog'
import { ButtonLink } from '~/ui/Link'
import { MenuButton, type MenuAction } from '~/ui/Menu'
import { ErrorText } from '~/ui/ProblemPanel'
import { Waiting } from '~/ui/Waiting'

type OpenDialog = 'none' | 'uninstall' | 'commands'

/** The buttons of the head: all that can be done with the open xApp. */
export function ActionsOfXApp(): ReactElement {
  const { record, change, askToRollBack } = useOpenXApp()
  const [dialog, setDialog] = useState<OpenDialog>('none')
  const act = useAct()
  const close = (): void => setDialog('none')
  const target = rollbackTarget(record)
  const commands = dialog === 'commands' && (
    <CommandsDialog commands={xappCommands(record, new Date().toISOString())} onClose={close} />
  )
  if (record.source === 'labels') {
    return (
      <>
        <AdoptLink right={change('adopt')} />
        <MenuButton label="More" items={[commandsItem(() => setDialog('commands'))]} />
        {commands}
      </>
    )
  }
  return (
    <>
      {act.error !== null && <ErrorText error={act.error} />}
      <Waiting what="Waiting for the gateway" isRunning={act.isPending} />
      <PageAction to="/xapps/$namespace/$name/upgrade" right={change('upgrade')} variant="primary">
        Upgrade
      </PageAction>
      <PageAction to="/xapps/$namespace/$name/values" right={change('configure')}>
        Edit values
      </PageAction>
      <MenuButton
        label="More"
        icon={act.isPending ? <LoaderCircle size={16} aria-label="in progress" /> : undefined}
        items={moreItems({
          isSuspended: record.phase === 'Suspended',
          held: record.heldRevision,
          target,
          rollbackRight: change('rollback'),
          actRight: allOf(act.isPending ? refused('The last request is still on its way') : null, change('act')),
          onAct: act.mutate,
          onRollBack: () => target !== null && askToRollBack(target),
          onCommands: () => setDialog('commands'),
        })}
      />
      <Button variant="danger" right={change('uninstall')} onPress={() => setDialog('uninstall')}>
        Uninstall...
      </Button>
      {dialog === 'uninstall' && <UninstallDialog onClose={close} />}
      {commands}
    </>
  )
}

interface MoreItems {
  isSuspended: boolean
  held: number | null
  target: number | null
  rollbackRight: Right
  actRight: Right
  onAct: (action: 'retry' | 'reconcile' | 'suspend' | 'resume' | 'test') => void
  onRollBack: () => void
  onCommands: () => void
}

const ICON = { size: 16, 'aria-hidden': true } as const

function moreItems({
  isSuspended,
  held,
  target,
  rollbackRight,
  actRight,
  onAct,
  onRollBack,
  onCommands,
}: MoreItems): (MenuAction | 'separator')[] {
  const whileSuspended = isSuspended ? refused('It is suspended: resume it first') : null
  return [
    {
      id: 'rollback',
      label: target === null ? 'Roll back...' : `Roll back to revision ${target}...`,
      icon: <RotateCcw {...ICON} />,
      right: allOf(target === null ? refused('There is no other revision that worked before') : null, rollbackRight),
      onAction: onRollBack,
    },
    {
      id: 'retry',
      label: 'Retry',
      icon: <RotateCw {...ICON} />,
      description: 'Forget the failed attempt and try again',
      right: allOf(whileSuspended, actRight),
      onAction: () => onAct('retry'),
    },
    {
      id: 'reconcile',
      label: 'Look again',
      icon: <ScanSearch {...ICON} />,
      description: 'Read the cluster and the chart repository again',
      right: allOf(whileSuspended, actRight),
      onAction: () => onAct('reconcile'),
    },
    isSuspended
      ? {
          id: 'resume',
          label: 'Resume',
          icon: <Play {...ICON} />,
          ...(held !== null && {
            description: `Ends the rollback to revision ${held}: the values of the XApp are installed`,
          }),
          right: actRight,
          onAction: () => onAct('resume'),
        }
      : {
          id: 'suspend',
          label: 'Suspend',
          icon: <Pause {...ICON} />,
          description:
            held === null
              ? 'Leave it as it is until it is resumed'
              : `Leave it as it is until it is resumed, which ends the rollback to revision ${held}`,
          right: actRight,
          onAction: () => onAct('suspend'),
        },
    {
      id: 'test',
      label: 'Run tests',
      icon: <TestTubeDiagonal {...ICON} />,
      description: 'Run the tests of the chart',
      right: allOf(whileSuspended, actRight),
      onAction: () => onAct('test'),
    },
    'separator',
    commandsItem(onCommands),
  ]
}

function commandsItem(onAction: () => void): MenuAction {
  return { id: 'commands', label: 'Copy as...', icon: <Terminal {...ICON} />, onAction }
}

interface PageActionProps {
  to: '/xapps/$namespace/$name/upgrade' | '/xapps/$namespace/$name/values'
  right: Right
  variant?: 'default' | 'primary'
  size?: 'normal' | 'small'
  search?: { adopt: true }
  children: string
}

/** A link that looks like a button; if it is refused, a button that says why. */
export function PageAction({
  to,
  right,
  variant = 'default',
  size = 'normal',
  search,
  children,
}: PageActionProps): ReactElement {
  const { id } = useOpenXApp()
  if (!right.allowed) {
    return (
      <Button right={right} variant={variant} size={size}>
        {children}
      </Button>
    )
  }
  return (
    <ButtonLink to={to} params={id} variant={variant} size={size} {...(search === undefined ? {} : { search })}>
      {children}
    </ButtonLink>
  )
}

/** The one change of an xApp that is known by its labels only. */
export function AdoptLink({ right, size = 'normal' }: { right: Right; size?: 'normal' | 'small' }): ReactElement {
  const { id } = useOpenXApp()
  if (!right.allowed) {
    return (
      <Button right={right} variant="primary" size={size}>
        Adopt...
      </Button>
    )
  }
  const search = { namespace: id.namespace, releaseName: id.name, adopt: true }
  return (
    <ButtonLink to="/deploy" search={search} variant="primary" size={size}>
      Adopt...
    </ButtonLink>
  )
}
