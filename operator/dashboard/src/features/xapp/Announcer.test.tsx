import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { act, render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'

import { healthQuery } from '~/api/queries/xappDetails'
import { Announcer } from '~/features/xapp/Announcer'
import { OpenXAppContext, type OpenXApp } from '~/features/xapp/openXApp'
import { containerOf, healthOf, podOf, xappOf } from '~/lib/xapp/samples'

const ID = { namespace: 'ric', name: 'acme-ran-kpi' }
const DEPLOYING = { phase: 'Deploying', ready: false, health: 'Progressing', reason: 'Progressing' } as const
const PULLING = healthOf({
  status: 'Progressing',
  pods: [podOf({ containers: [containerOf({ ready: false, state: 'waiting', reason: 'ImagePullBackOff' })] })],
})

it('says a new state, and once what is first at fault, although the state stays', async () => {
  const client = new QueryClient()
  const view = (changes: object) => (
    <QueryClientProvider client={client}>
      <OpenXAppContext value={{ id: ID, record: xappOf(changes), goneAt: null } as unknown as OpenXApp}>
        <Announcer />
      </OpenXAppContext>
    </QueryClientProvider>
  )
  const report = (health: object) =>
    act(async () => {
      client.setQueryData(healthQuery(ID).queryKey, health as never)
      await new Promise((told) => setTimeout(told))
    })
  const said = () => screen.getByRole('status').textContent
  const { rerender } = render(view({ ...DEPLOYING, message: '0 of 1 replicas ready' }))
  await report(healthOf({ status: 'Progressing' }))
  expect(said()).toBe('')

  await report(PULLING)
  expect(said()).toBe('Deploying. Pod kpi-0, container xapp: ImagePullBackOff')
  await report(healthOf({ status: 'Progressing' }))
  await report({ ...PULLING, pods: [podOf({ ...PULLING.pods[0], name: 'kpi-1' })] })
  expect(said()).toBe('Deploying. Pod kpi-0, container xapp: ImagePullBackOff')

  rerender(view({ phase: 'Degraded', ready: false, health: 'Degraded', message: 'not healthy after 5m0s' }))
  expect(said()).toBe('Degraded. not healthy after 5m0s')
})
