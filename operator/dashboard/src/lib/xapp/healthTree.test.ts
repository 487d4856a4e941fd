import { describe, expect, it } from 'vitest'

import { buildHealthTree, startsOpen } from '~/lib/xapp/healthTree'
import { CRASHING, containerOf, podOf } from '~/lib/xapp/samples'
import type { ResourceHealth } from '~/lib/xapp/types'

function resource(kind: string, name: string, changes: Partial<ResourceHealth> = {}): ResourceHealth {
  return { kind, name, namespace: 'ric', status: 'Healthy', message: null, ...changes }
}

describe('the tree of health', () => {
  it('has pods below their owner, in the order of the answer', () => {
    const tree = buildHealthTree({
      resources: [resource('ConfigMap', 'kpi'), resource('StatefulSet', 'kpi', { status: 'Degraded' })],
      pods: [podOf({ containers: [CRASHING] }), podOf({ name: 'kpi-1' })],
    })
    expect(tree.map(({ kind, pods }) => [kind, pods.map(({ key }) => key)])).toEqual([
      ['ConfigMap', []],
      ['StatefulSet', ['kpi-0', 'kpi-1']],
    ])
    expect(tree[1]?.pods[0]).toMatchObject({
      status: 'Degraded',
      containers: [{ status: 'Degraded', summary: 'terminated, CrashLoopBackOff, exit 42, 7 restarts' }],
    })
    expect(tree[1]?.pods[1]?.status).toBe('Healthy')
  })

  it('shows pods whose owner is not in the answer, and each pod once', () => {
    const tree = buildHealthTree({
      resources: [resource('Pod', 'alone')],
      pods: [podOf({ name: 'alone', owner: null }), podOf({ name: 'x', owner: { kind: 'ReplicaSet', name: 'rs' } })],
    })
    expect(tree.map(({ kind, name, pods }) => [kind, name, pods.length])).toEqual([
      ['Pod', 'alone', 1],
      ['ReplicaSet', 'rs', 1],
    ])
  })

  it('tells finished init containers and running ones that are not ready apart', () => {
    const done = containerOf({ name: 'init', init: true, ready: false, state: 'terminated', exitCode: 0 })
    const slow = containerOf({ ready: false })
    const [node] = buildHealthTree({ resources: [], pods: [podOf({ containers: [done, slow] })] })
    expect(node?.pods[0]?.containers.map(({ status, summary }) => [status, summary])).toEqual([
      ['Healthy', 'terminated, exit 0'],
      ['Progressing', 'running, not ready'],
    ])
  })

  it('opens what is wrong', () => {
    const [wrong, fine] = buildHealthTree({
      resources: [resource('Deployment', 'a', { status: 'Degraded' }), resource('Deployment', 'b')],
      pods: [],
    })
    expect([wrong, fine].map((node) => node && startsOpen(node, 100))).toEqual([true, false])
  })
})
