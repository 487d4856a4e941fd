/** Plain objects for tests. */

import type { Container, HealthReport, Pod, XApp } from '~/lib/xapp/types'

export function xappOf(changes: Partial<XApp> = {}): XApp {
  return {
    name: 'acme-ran-kpi',
    namespace: 'ric',
    uid: 'u1',
    source: 'xapp',
    phase: 'Deployed',
    ready: true,
    health: 'Healthy',
    reason: 'InstallSucceeded',
    stalled: false,
    message: 'revision 1 of kpi 1.0.0 is deployed and healthy',
    progress: { step: 'ready', startedAt: null, deadline: null, attempt: null, nextTryAt: null },
    release: { revision: 1 },
    conditions: [],
    history: [
      { revision: 1, status: 'deployed', action: 'install', description: 'Install complete', wasHealthy: true },
    ],
    resources: { total: 4, ready: 4 },
    ...changes,
  }
}

export function containerOf(changes: Partial<Container> = {}): Container {
  return {
    name: 'xapp',
    init: false,
    image: 'registry.example.com/kpi:1',
    ready: true,
    state: 'running',
    reason: null,
    exitCode: null,
    message: null,
    restarts: 0,
    lastState: null,
    ...changes,
  }
}

export function podOf(changes: Partial<Pod> = {}): Pod {
  const containers = changes.containers ?? [containerOf()]
  return {
    name: 'kpi-0',
    phase: 'Running',
    ready: containers.every(({ ready, init }) => ready || init),
    restarts: 0,
    node: 'ric-1',
    owner: { kind: 'StatefulSet', name: 'kpi' },
    ...changes,
    containers,
  }
}

export const CRASHING = containerOf({
  ready: false,
  state: 'terminated',
  reason: 'CrashLoopBackOff',
  exitCode: 42,
  restarts: 7,
  message: 'panic: no route to e2term',
})

export function healthOf(changes: Partial<HealthReport> = {}): HealthReport {
  return {
    status: 'Healthy',
    message: null,
    resources: [],
    pods: [],
    podsTotal: 0,
    events: [],
    eventsTotal: 0,
    ...changes,
  }
}
