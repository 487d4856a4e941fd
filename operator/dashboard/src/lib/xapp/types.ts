/** The parts of answers of the API that the logic about one xApp looks at. */

export type Health = 'Healthy' | 'Progressing' | 'Degraded' | 'Unknown'

export interface Termination {
  reason: string | null
  exitCode: number | null
  signal: number | null
  startedAt: string | null
  finishedAt: string | null
}

export interface Container {
  name: string
  init: boolean
  image: string | null
  ready: boolean
  state: string
  reason: string | null
  exitCode: number | null
  message: string | null
  restarts: number
  lastState: Termination | null
}

export interface Pod {
  name: string
  phase: string | null
  ready: boolean
  restarts: number
  node: string | null
  owner: { kind: string; name: string } | null
  containers: readonly Container[]
}

export interface ResourceHealth {
  kind: string
  name: string
  namespace: string | null
  status: Health
  message: string | null
}

export interface XAppEvent {
  type: string | null
  reason: string | null
  message: string | null
  object: { kind: string | null; name: string | null }
  count: number
  lastSeen: string | null
}

export interface HealthReport {
  status: Health
  message: string | null
  resources: readonly ResourceHealth[]
  pods: readonly Pod[]
  podsTotal: number | null
  events: readonly XAppEvent[]
  eventsTotal: number | null
}

export interface Progress {
  step: 'queued' | 'chart' | 'render' | 'helm' | 'objects' | 'ready'
  startedAt: string | null
  deadline: string | null
  attempt: number | null
  nextTryAt: string | null
}

export interface Revision {
  revision: number
  status: string | null
  action: string | null
  /** Helm's own sentence about it; null if it is none of Helm's. */
  description: string | null
  /** Whether it was healthy at some time while it was in force; null: not known. */
  wasHealthy: boolean | null
}

export interface Condition {
  type: string
  lastTransitionTime: string | null
}

export interface XApp {
  name: string
  namespace: string
  uid: string
  source: 'xapp' | 'labels'
  phase: string
  ready: boolean
  health: Health
  reason: string | null
  stalled: boolean
  message: string | null
  progress: Progress | null
  release: { revision: number | null }
  conditions: readonly Condition[]
  history: readonly Revision[]
  resources: { total: number; ready: number }
}
