import { describe, expect, it } from 'vitest'

import { adviceFor, adviceWhileWaiting, rollbackTarget } from '~/lib/xapp/advice'
import { causeReport, culpritText, findCause, findCulprit, kubeletMessage, logsOf, type Cause } from '~/lib/xapp/cause'
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
    { revision: 2, status: 'deployed', action: 'upgrade', description: null, wasHealthy: null },
    { revision: 1, status: 'superseded', action: 'install', description: null, wasHealthy: null },
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

  it('has run out of memory also while it waits for its next run', () => {
    const lastState = { reason: 'OOMKilled', exitCode: 137, signal: 9, startedAt: null, finishedAt: null }
    const killed = { ...CRASHING, exitCode: null, lastState }
    const culprit = findCulprit([podOf({ containers: [killed] })])
    expect(culprit && culpritText(culprit)).toBe('OOMKilled, exit 137, 7 restarts')
  })

  it('is described with reason, exit code and restarts', () => {
    const culprit = findCulprit([podOf({ containers: [CRASHING] })])
    expect(culprit && culpritText(culprit)).toBe('CrashLoopBackOff, exit 42, 7 restarts')
  })
})

describe('the logs of the container at fault', () => {
  const logs = (changes: Parameters<typeof containerOf>[0]): string[] => {
    const culprit = findCulprit([podOf({ containers: [{ ...CRASHING, ...changes }] })])
    return culprit === null ? [] : logsOf(culprit).map(({ label, previous }) => `${label}: ${String(previous)}`)
  }

  it('are that of the run that is there now and that of the run before', () => {
    const both = ['Log: false', 'Log of previous run: true']
    expect(logs({ state: 'running', reason: null, message: null })).toEqual(both)
    expect(logs({ state: 'terminated' })).toEqual(both)
    expect(logs({ state: 'running', restarts: 0 })).toEqual(['Log: false'])
  })

  it('are that of the run before only, while it waits for the next one', () => {
    expect(logs({ state: 'waiting' })).toEqual(['Log of previous run: true'])
    expect(logs({ state: 'waiting', reason: 'ImagePullBackOff', restarts: 0 })).toEqual([])
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
    const queued = { ...deploying, phase: 'Pending' as const, health: 'Unknown' as const, reason: 'DependencyNotReady' }
    expect(findCause(queued, healthOf({ status: 'Unknown' }))).toBeNull()
    expect(findCause({ ...queued, stalled: true }, healthOf({ status: 'Unknown' }))).not.toBeNull()
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
    expect(cause?.culprit).toMatchObject({ lastWords: 'panic: no route to e2term', hasRun: true })
    expect(cause?.lastEvent).toMatchObject({ reason: 'BackOff', count: 14 })
  })

  it('leaves out the last warning if it says the same as the message', () => {
    const own = { type: 'Warning', reason: 'InvalidTemplates', object: { kind: 'XApp', name: 'kpi' }, count: 3 }
    const events = [{ ...own, message: ` ${FAILED.message}\n`, lastSeen: null }]
    expect(findCause(FAILED, { ...CRASH, events })?.lastEvent).toBeNull()
  })

  it.each([
    ['part of the message', 'MountVolume failed: no secret', 'pod kpi-0: MountVolume failed: no secret "e2"', null],
    ['what the kubelet says', 'Back-off pulling image "kpi:2"', 'not healthy', 'Back-off pulling image "kpi:2": no'],
    ['more than the kubelet says', 'Failed to pull: kpi:2: not found', 'not healthy', 'kpi:2: not found'],
    ['the reason of the container', 'Error: ImagePullBackOff', 'not healthy', null],
  ])('leaves out the last warning if it says %s', (_, event, message, said) => {
    const waiting = containerOf({ ready: false, state: 'waiting', reason: 'ImagePullBackOff', message: said })
    const own = { type: 'Warning', reason: 'Failed', object: { kind: 'Pod', name: 'kpi-0' }, count: 3, lastSeen: null }
    const health = healthOf({ status: 'Degraded', pods: [podOf({ containers: [waiting] })] })
    const events = [{ ...own, message: event }]
    expect(causeOf({ ...FAILED, message }, { ...health, events }).lastEvent).toBeNull()
    const other = [{ ...own, message: 'Insufficient memory' }, ...events]
    expect(causeOf({ ...FAILED, message }, { ...health, events: other }).lastEvent).toEqual(other[0])
  })

  it('has no last words of a container that never ran, and the message of the kubelet once', () => {
    const message = 'Back-off pulling image "kpi:2":\n not found'
    const waiting = containerOf({ ready: false, state: 'waiting', reason: 'ImagePullBackOff', message })
    const health = healthOf({ status: 'Degraded', pods: [podOf({ containers: [waiting] })] })
    const other = causeOf(FAILED, health)
    expect(other.culprit).toMatchObject({ lastWords: null, waitsFor: message, hasRun: false })
    expect(kubeletMessage(other)).toBe(message)
    expect(causeReport(FAILED, other, new Date(0))).toContain(`Kubelet: ${message}`)

    const told = { ...FAILED, message: 'container xapp: ImagePullBackOff: Back-off pulling image "kpi:2": not found' }
    const same = causeOf(told, health)
    expect(kubeletMessage(same)).toBeNull()
    expect(causeReport(told, same, new Date(0)).match(/Back-off/g)).toHaveLength(1)
  })

  it('has the log of the last run while a container that crashed waits, not why it waits', () => {
    const waiting = { ...CRASHING, state: 'waiting', message: 'back-off 5m0s restarting failed container' }
    const health = healthOf({ status: 'Degraded', pods: [podOf({ containers: [waiting] })] })
    const expected = { lastWords: null, hasRun: true, isPreviousRun: true }
    expect(causeOf(FAILED, health).culprit).toMatchObject(expected)
  })

  it('tells what a container said that waits after a crash from what the kubelet says', () => {
    const said = 'panic: \u001b[31mno route\u001b[0m to e2term'
    const waiting = { ...CRASHING, state: 'waiting', message: said }
    const cause = causeOf(FAILED, healthOf({ status: 'Degraded', pods: [podOf({ containers: [waiting] })] }))
    expect(cause.culprit).toMatchObject({ lastWords: said, waitsFor: null, isPreviousRun: true })
    expect(causeReport(FAILED, cause, new Date(0))).toMatch(/Last words:\npanic: no route to e2term$/)
  })

  it('tells the revision that was given up from the one in force again', () => {
    const rolledBack =
      'not healthy after 3s (spec.timeout): pod kpi-9: container xapp: ErrImagePull; rolled back to revision 1'
    const failed = { ...FAILED, message: rolledBack }
    const other = causeOf(failed, CRASH)
    expect(other).toMatchObject({ restored: 1, culprit: { pod: 'kpi-0' } })
    expect(causeReport(failed, other, new Date(0))).toContain(
      'In revision 1, which is in force again: Pod kpi-0, container xapp: CrashLoopBackOff',
    )
    // Of the one that was given up, pods may be there for a while.
    expect(causeOf({ ...failed, message: rolledBack.replace('kpi-9', 'kpi-0') }, CRASH).restored).toBeNull()
    expect(causeOf(FAILED, CRASH).restored).toBeNull()
    expect(causeOf(failed, healthOf()).restored).toBeNull()
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

  it('is to adopt what exists already, whatever the reason', () => {
    const message = 'a Helm release with this name exists, and no XApp created it. Set adopt: true to take it over'
    expect(advice({ reason: 'AccessDenied', message }).remedies).toEqual(['takeOver', 'retry'])
    const object = 'ConfigMap "a" exists and belongs to no release: set adopt: true to take it over, or remove it'
    expect(advice({ reason: 'InstallFailed', message: object }).remedies).toEqual(['takeOver', 'retry'])
  })

  it('is to wait for other xApps, or to take one out of a cycle of them', () => {
    expect(adviceWhileWaiting({ phase: 'Pending', reason: 'DependencyNotReady' })?.text).toContain('by itself')
    expect(adviceWhileWaiting({ phase: 'Uninstalling', reason: 'DependencyNotReady' })).toBeNull()
    expect(adviceWhileWaiting({ phase: 'Deploying', reason: 'Progressing' })).toBeNull()
    const cycle = advice({ reason: 'DependencyNotReady', stalled: true, message: 'dependsOn forms a cycle: a → b → a' })
    expect(cycle.text).toContain('Take one of them out of the dependsOn')
    expect(cycle.remedies).toEqual([])
  })

  it('is about the nodes if no node takes a pod', () => {
    const message = "pod kpi-0: 0/3 nodes are available: 3 node(s) didn't match Pod's node affinity"
    const nodes = advice({ reason: 'HealthCheckFailed', message })
    expect(nodes.text).toContain('No node has room')
    // The operator does not try again by itself once it has gone back to the revision before.
    expect(nodes.remedies).toEqual(['values', 'upgrade', 'retry'])
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
  const revision = (
    number: number,
    status: string,
    description: string | null = 'Upgrade complete',
    wasHealthy: boolean | null = null,
  ) => ({
    revision: number,
    status,
    action: 'upgrade',
    description,
    wasHealthy,
  })
  const targetOf = (...history: XApp['history']) =>
    rollbackTarget({ history, release: { revision: history[0]?.revision ?? null } })

  it('is the newest one below the one in force that worked', () => {
    const earlier = [revision(3, 'failed', null), revision(2, 'superseded'), revision(1, 'superseded')]
    expect(targetOf(revision(4, 'deployed'), ...earlier)).toBe(2)
    expect(targetOf(revision(4, 'deployed'))).toBeNull()
    expect(targetOf()).toBeNull()
  })

  it('is not one that a rollback gave up, nor the one that it brought back', () => {
    const undone = [revision(3, 'deployed', 'Rollback to 1'), revision(2, 'superseded'), revision(1, 'superseded')]
    expect(targetOf(...undone)).toBeNull()
    expect(targetOf(...undone.slice(0, 2))).toBeNull()
    const later = [revision(6, 'deployed', 'Rollback to 4'), revision(5, 'superseded')]
    const before = [revision(4, 'superseded', 'Rollback to 2'), revision(3, 'superseded'), revision(2, 'superseded')]
    expect(targetOf(...later, ...before)).toBeNull()
    expect(targetOf(...later, ...before, revision(1, 'superseded'))).toBe(1)
    expect(targetOf(revision(5, 'deployed'), ...before)).toBe(4)
  })

  it('is not one that never was healthy', () => {
    const bad = [revision(4, 'deployed'), revision(3, 'superseded', null, false)]
    expect(targetOf(...bad, revision(2, 'superseded', null, true), revision(1, 'superseded'))).toBe(2)
    expect(targetOf(...bad, revision(2, 'superseded'))).toBe(2)
    expect(targetOf(...bad)).toBeNull()
  })

  it('believes no description that names a later revision', () => {
    expect(targetOf(revision(2, 'deployed', 'Rollback to 9'), revision(1, 'superseded'))).toBe(1)
  })
})
