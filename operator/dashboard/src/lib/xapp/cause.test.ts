import { describe, expect, it } from 'vitest'

import { adviceFor, rollbackTarget } from '~/lib/xapp/advice'
import { causeReport, culpritText, findCause, findCulprit, type Cause } from '~/lib/xapp/cause'
import { CRASHING, containerOf, healthOf, podOf, xappOf } from '~/lib/xapp/samples'
import type { HealthReport, XApp } from '~/lib/xapp/types'

const FAILED = xappOf({
  phase: 'Degraded',
  ready: false,
  health: 'Degraded',
  reason: 'HealthCheckFailed',
  stalled: true,
  message: 'pod kpi-0: container xapp: CrashLoopBackOff',
  release: { revision: 2 },
  history: [
    { revision: 2, status: 'deployed', action: 'upgrade' },
    { revision: 1, status: 'superseded', action: 'install' },
  ],
})
const CRASH = healthOf({ status: 'Degraded', pods: [podOf({ containers: [CRASHING] })] })

function causeOf(xapp: XApp, health: HealthReport): Cause {
  const cause = findCause(xapp, health)
  if (cause === null) throw new Error('nothing is wrong')
  return cause
}

describe('the container at fault', () => {
  it('is the one with most restarts among those that have failed', () => {
    const pods = [
      podOf({ name: 'a', containers: [containerOf({ ready: false, restarts: 9 })] }),
      podOf({ name: 'b', containers: [containerOf(), { ...CRASHING, restarts: 2 }] }),
      podOf({ name: 'c', containers: [CRASHING] }),
    ]
    expect(findCulprit(pods)).toMatchObject({ pod: 'c', container: 'xapp', exitCode: 42, isPreviousRun: true })
  })

  it('is one that runs and is not ready, if none has failed', () => {
    const pods = [podOf({ containers: [containerOf({ ready: false })] })]
    expect(findCulprit(pods)).toMatchObject({ reason: null, restarts: 0, isPreviousRun: false })
  })

  it('is none while containers are being created, or init containers are done', () => {
    const creating = containerOf({ ready: false, state: 'waiting', reason: 'ContainerCreating' })
    const done = containerOf({ init: true, ready: false, state: 'terminated', exitCode: 0 })
    expect(findCulprit([podOf({ containers: [done, creating] })])).toBeNull()
  })

  it('is described with reason, exit code and restarts', () => {
    const culprit = findCulprit([podOf({ containers: [CRASHING] })])
    expect(culprit && culpritText(culprit)).toBe('CrashLoopBackOff, exit 42, 7 restarts')
  })
})

describe('the cause', () => {
  it('is none while it is uninstalled, whatever its pods do, unless that fails', () => {
    const going = { ...FAILED, phase: 'Uninstalling' as const, reason: 'Progressing', stalled: false }
    expect(findCause(going, CRASH)).toBeNull()
    expect(findCause({ ...going, reason: 'UninstallFailed' }, CRASH)).not.toBeNull()
  })

  it('is none for an xApp that is Ready, suspended, or deploys as it should', () => {
    expect(findCause(xappOf(), healthOf())).toBeNull()
    expect(findCause(xappOf({ phase: 'Suspended', ready: false }), undefined)).toBeNull()
    const deploying = xappOf({
      phase: 'Deploying',
      ready: false,
      health: 'Progressing',
      reason: 'Progressing',
      progress: { step: 'objects', startedAt: null, deadline: null, attempt: 1, nextTryAt: null },
    })
    expect(findCause(deploying, healthOf({ status: 'Progressing' }))).toBeNull()
  })

  it('has the message of the operator, the container at fault and its last warning', () => {
    const events = [
      {
        type: 'Normal',
        reason: 'Pulled',
        message: '',
        object: { kind: 'Pod', name: 'kpi-0' },
        count: 1,
        lastSeen: null,
      },
      { type: 'Warning', reason: 'Other', message: '', object: { kind: 'Job', name: 'x' }, count: 1, lastSeen: null },
      {
        type: 'Warning',
        reason: 'BackOff',
        message: 'm',
        object: { kind: 'Pod', name: 'kpi-0' },
        count: 14,
        lastSeen: null,
      },
    ]
    const cause = findCause(FAILED, { ...CRASH, events })
    expect(cause?.message).toBe(FAILED.message)
    expect(cause?.culprit?.lastWords).toBe('panic: no route to e2term')
    expect(cause?.lastEvent).toMatchObject({ reason: 'BackOff', count: 14 })
  })

  it('is known before the health is, and without pods', () => {
    const failed = xappOf({ phase: 'Failed', ready: false, reason: 'ChartPullFailed', message: 'chart not found' })
    expect(findCause(failed, undefined)).toMatchObject({ message: 'chart not found', culprit: null })
  })

  it('is in the report with all that a colleague needs', () => {
    const cause = causeOf(FAILED, CRASH)
    const report = causeReport(FAILED, cause, new Date('2026-11-22T05:00:00Z'))
    expect(report).toContain('xApp acme-ran-kpi in namespace ric')
    expect(report).toContain('Pod kpi-0, container xapp: CrashLoopBackOff, exit 42, 7 restarts')
    expect(report).toContain('panic: no route to e2term')
  })
})

describe('what to do', () => {
  const advice = (changes: Parameters<typeof xappOf>[0], health = healthOf()) => {
    const xapp = xappOf({ ready: false, phase: 'Failed', release: { revision: null }, history: [], ...changes })
    return adviceFor(xapp, causeOf(xapp, health))
  }

  it('follows from the container at fault', () => {
    expect(adviceFor(FAILED, causeOf(FAILED, CRASH))).toMatchObject({
      remedies: ['values', 'upgrade', 'retry', 'rollback'],
    })
    const memory = healthOf({ pods: [podOf({ containers: [{ ...CRASHING, reason: 'OOMKilled' }] })] })
    expect(advice({ reason: 'HealthCheckFailed' }, memory).text).toContain('memory limit')
  })

  it('follows from the reason, also while pods of an earlier revision crash', () => {
    expect(advice({ reason: 'ChartPullFailed' }, CRASH).remedies).toEqual(['upgrade', 'reconcile', 'repositories'])
    expect(advice({ reason: 'ValuesInvalid' }).remedies).toEqual(['values', 'retry'])
  })

  it('is about the nodes if no node takes a pod', () => {
    const message = "pod kpi-0: 0/3 nodes are available: 3 node(s) didn't match Pod's node affinity"
    expect(advice({ reason: 'HealthCheckFailed', message }).text).toContain('No node has room')
  })

  it('is to adopt an xApp that is known by its labels', () => {
    const degraded = healthOf({ status: 'Degraded' })
    expect(advice({ source: 'labels', reason: null, health: 'Degraded' }, degraded).remedies).toEqual(['adopt'])
  })

  it('does not look reasons up in the prototype', () => {
    expect(advice({ reason: 'constructor' }).remedies).toContain('values')
  })
})

describe('the revision to go back to', () => {
  it('is the newest one below the one in force that worked', () => {
    const history = [
      { revision: 4, status: 'deployed', action: 'upgrade' },
      { revision: 3, status: 'failed', action: 'upgrade' },
      { revision: 2, status: 'superseded', action: 'upgrade' },
      { revision: 1, status: 'superseded', action: 'install' },
    ]
    expect(rollbackTarget({ history, release: { revision: 4 } })).toBe(2)
    expect(rollbackTarget({ history: history.slice(0, 1), release: { revision: 4 } })).toBeNull()
  })
})
