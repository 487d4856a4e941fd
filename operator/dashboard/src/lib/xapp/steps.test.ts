import { describe, expect, it } from 'vitest'

import { isSettled, progressSteps, stepTimes } from '~/lib/xapp/steps'
import { xappOf } from '~/lib/xapp/samples'
import type { Progress } from '~/lib/xapp/types'

function progressOf(changes: Partial<Progress>): Progress {
  return { step: 'helm', startedAt: null, deadline: null, attempt: 1, nextTryAt: null, ...changes }
}

const DEPLOYING = xappOf({
  phase: 'Deploying',
  ready: false,
  health: 'Progressing',
  reason: 'Progressing',
  release: { revision: null },
  history: [],
  resources: { total: 4, ready: 3 },
})

describe('the steps', () => {
  it('are done, current and waiting', () => {
    const steps = progressSteps({ ...DEPLOYING, progress: progressOf({ step: 'helm' }) })
    expect(steps.map(({ label, state }) => `${label}: ${state}`)).toEqual([
      'Accepted: done',
      'Chart: done',
      'Helm install: current',
      'Objects 3 of 4: waiting',
      'Ready: waiting',
    ])
  })

  it('stay after a failure', () => {
    const failed = { ...DEPLOYING, stalled: true, reason: 'HealthCheckFailed', release: { revision: 1 } }
    const steps = progressSteps({ ...failed, progress: progressOf({ step: 'objects' }) })
    expect(steps[3]).toEqual({ id: 'objects', label: 'Objects 3 of 4', state: 'failed' })
  })

  it('have not failed while it waits for another xApp, but have in a cycle of them', () => {
    const queued = { ...DEPLOYING, phase: 'Pending' as const, reason: 'DependencyNotReady' }
    const progress = progressOf({ step: 'queued' })
    expect(progressSteps({ ...queued, progress })[0]).toMatchObject({ label: 'Accepted', state: 'current' })
    expect(progressSteps({ ...queued, progress, stalled: true })[0]).toMatchObject({ state: 'failed' })
  })

  it('do not call all objects ready where these failed and were rolled back', () => {
    const failed = { ...DEPLOYING, stalled: true, reason: 'HealthCheckFailed', resources: { total: 4, ready: 4 } }
    const steps = progressSteps({ ...failed, progress: progressOf({ step: 'objects' }) })
    expect(steps[3]).toEqual({ id: 'objects', label: 'Objects', state: 'failed' })
  })

  it('name what helm did last', () => {
    const history = [
      { revision: 3, status: 'deployed', action: 'Rollback', description: 'Rollback to 1', wasHealthy: true },
    ]
    const steps = progressSteps(xappOf({ history, release: { revision: 3 } }))
    expect(steps[2]?.label).toBe('Helm rollback')
    expect(steps.every(({ state }) => state === 'done')).toBe(true)
  })

  it('are none where the operator does nothing', () => {
    expect(progressSteps(xappOf({ progress: null, source: 'labels' }))).toEqual([])
  })
})

describe('the times of a step', () => {
  const now = Date.parse('2026-11-22T05:02:10Z')

  it('are elapsed, limit and next try', () => {
    const progress = progressOf({
      startedAt: '2026-11-22T05:00:00Z',
      deadline: '2026-11-22T05:05:00Z',
      nextTryAt: '2026-11-22T05:02:15Z',
    })
    expect(stepTimes({ ...DEPLOYING, progress }, now)).toEqual({ elapsed: 130, isOver: false, limit: 300, nextTry: 5 })
  })

  it('stand still once the objects have not become healthy in time', () => {
    const startedAt = '2026-11-22T05:00:00Z'
    const progress = progressOf({ step: 'objects', startedAt, deadline: '2026-11-22T05:00:03Z' })
    const failed = { ...DEPLOYING, reason: 'HealthCheckFailed', progress }
    expect(stepTimes(failed, now)).toEqual({ elapsed: 3, isOver: true, limit: 3, nextTry: null })
    // After a rollback, which took its time.
    const conditions = [{ type: 'Stalled', lastTransitionTime: '2026-11-22T05:01:00Z' }]
    expect(stepTimes({ ...failed, stalled: true, conditions }, now)).toMatchObject({ elapsed: 3, isOver: true })
    // By the clock of the cluster: that of the reader may be slow.
    expect(stepTimes(failed, now - 3_600_000)).toMatchObject({ elapsed: 3, isOver: true })
    // What has become unhealthy later has no limit, and its time goes on.
    const later = { ...failed, progress: { ...progress, deadline: null } }
    expect(stepTimes(later, now)).toEqual({ elapsed: 130, isOver: false, limit: null, nextTry: null })
  })

  it('stand still once the operator gives up, and go on while it tries again', () => {
    const progress = progressOf({ startedAt: '2026-11-22T05:00:00Z' })
    const conditions = [{ type: 'Stalled', lastTransitionTime: '2026-11-22T05:00:12Z' }]
    const stalled = { ...DEPLOYING, reason: 'InstallFailed', stalled: true, conditions, progress }
    expect(stepTimes(stalled, now)).toEqual({ elapsed: 12, isOver: true, limit: null, nextTry: null })
    const passing = progressOf({ ...progress, deadline: '2026-11-22T05:01:00Z', nextTryAt: '2026-11-22T05:02:15Z' })
    expect(stepTimes({ ...stalled, stalled: false, progress: passing }, now)).toMatchObject({
      elapsed: 130,
      nextTry: 5,
    })
  })

  it('are none once it is Ready', () => {
    expect(stepTimes(xappOf(), now)).toEqual({ elapsed: null, isOver: false, limit: null, nextTry: null })
  })
})

describe('nothing moves any more', () => {
  it('when it is Ready, stalled or suspended', () => {
    expect(isSettled(xappOf(), 'Healthy')).toBe(true)
    expect(isSettled({ ...DEPLOYING, stalled: true }, 'Degraded')).toBe(true)
    expect(isSettled(xappOf({ phase: 'Suspended', progress: null }), 'Healthy')).toBe(true)
    const progress = progressOf({ step: 'objects', deadline: '2026-11-22T05:00:03Z' })
    expect(isSettled({ ...DEPLOYING, reason: 'HealthCheckFailed', progress }, 'Degraded')).toBe(true)
  })

  it('but not while it deploys, becomes healthy or goes', () => {
    expect(isSettled({ ...DEPLOYING, progress: progressOf({}) }, 'Unknown')).toBe(false)
    const progress = progressOf({ step: 'objects', deadline: '2026-11-22T05:00:03Z' })
    expect(isSettled({ ...DEPLOYING, progress }, 'Degraded')).toBe(false)
    expect(isSettled(xappOf(), 'Progressing')).toBe(false)
    expect(isSettled(xappOf({ phase: 'Uninstalling' }), 'Healthy')).toBe(false)
  })
})
