import { useNavigate } from '@tanstack/react-router'
import type { ReactElement } from 'react'

import { AdoptLink, PageAction } from '~/features/xapp/ActionsOfXApp'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { useAct } from '~/features/xapp/useAct'
import { rollbackTarget, type Remedy } from '~/lib/xapp/advice'
import { Button } from '~/ui/Button'
import { ButtonLink } from '~/ui/Link'
import { ErrorText } from '~/ui/ProblemPanel'
import { Waiting } from '~/ui/Waiting'

const ACTS = { retry: 'Retry', reconcile: 'Look again', resume: 'Resume' } as const

/** What to do about a failure, as buttons. */
export function Remedies({ remedies }: { remedies: readonly Remedy[] }): ReactElement {
  const act = useAct()
  return (
    <>
      {remedies.map((remedy) => (
        <RemedyButton key={remedy} remedy={remedy} act={act} />
      ))}
      <Waiting what="Waiting for the gateway" isRunning={act.isPending} />
      {act.error !== null && <ErrorText error={act.error} />}
    </>
  )
}

function RemedyButton({ remedy, act }: { remedy: Remedy; act: ReturnType<typeof useAct> }): ReactElement | null {
  const { id, change } = useOpenXApp()
  const navigate = useNavigate()
  switch (remedy) {
    case 'values':
      return (
        <PageAction to="/xapps/$namespace/$name/values" right={change('configure')} size="small">
          Edit values
        </PageAction>
      )
    case 'upgrade':
      return (
        <PageAction to="/xapps/$namespace/$name/upgrade" right={change('upgrade')} size="small">
          Upgrade
        </PageAction>
      )
    case 'rollback':
      return <RollbackButton />
    case 'events':
      return (
        <ButtonLink to="/xapps/$namespace/$name/events" params={id} size="small">
          Events
        </ButtonLink>
      )
    case 'repositories':
      return (
        <Button
          size="small"
          onPress={() => void navigate({ to: '/repositories', search: { namespace: [id.namespace] } })}
        >
          Repositories
        </Button>
      )
    case 'takeOver':
      return (
        <PageAction
          to="/xapps/$namespace/$name/upgrade"
          search={{ adopt: true }}
          right={change('upgrade')}
          variant="primary"
          size="small"
        >
          Adopt...
        </PageAction>
      )
    case 'adopt':
      return <AdoptLink right={change('adopt')} size="small" />
    default:
      return (
        <Button
          size="small"
          right={change('act')}
          isPending={act.isPending && act.variables === remedy}
          onPress={() => act.mutate(remedy)}
        >
          {ACTS[remedy]}
        </Button>
      )
  }
}

function RollbackButton(): ReactElement | null {
  const { record, change, askToRollBack } = useOpenXApp()
  const target = rollbackTarget(record)
  if (target === null) return null
  return (
    <Button size="small" right={change('rollback')} onPress={() => askToRollBack(target)}>
      {`Roll back to ${target}`}
    </Button>
  )
}
