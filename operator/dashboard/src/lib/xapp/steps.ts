/** The steps of a deployment, from the progress that the operator reports. */

import { isFailureReason } from '~/lib/xapp/cause'
import type { XApp } from '~/lib/xapp/types'

export interface ProgressStep {
  id: 'accepted' | 'chart' | 'helm' | 'objects' | 'ready'
  label: string
  state: 'done' | 'current' | 'failed' | 'waiting'
}

const ORDER = ['accepted', 'chart', 'helm', 'objects', 'ready'] as const
const STEP_OF = {
  queued: 'accepted',
  chart: 'chart',
  render: 'chart',
  helm: 'helm',
  objects: 'objects',
  ready: 'ready',
} as const

/** Returns the steps, or none if the operator does not work on this xApp. */
export function progressSteps(xapp: XApp): ProgressStep[] {
  const { progress } = xapp
  if (progress === null) return []
  const at = ORDER.indexOf(STEP_OF[progress.step])
  const isReady = progress.step === 'ready'
  const hasFailed = !isReady && (xapp.stalled || isFailureReason(xapp.reason))
  return ORDER.map((id, index) => {
    const state = index < at || isReady ? 'done' : index > at ? 'waiting' : hasFailed ? 'failed' : 'current'
    return { id, label: labelOf(id, state, xapp), state }
  })
}

function labelOf(id: ProgressStep['id'], state: ProgressStep['state'], xapp: XApp): string {
  const { resources, progress } = xapp
  const allReady = resources.ready === resources.total
  if (id === 'accepted') return 'Accepted'
  if (id === 'chart') return progress?.step === 'render' ? 'Chart and values' : 'Chart'
  if (id === 'helm') return `Helm ${helmAction(xapp)}`
  // After a rollback all objects are ready again; those of the revision that failed are gone.
  if (id === 'objects' && state === 'failed' && allReady) return 'Objects'
  if (id === 'objects') return resources.total > 0 ? `Objects ${resources.ready} of ${resources.total}` : 'Objects'
  return 'Ready'
}

const ACTIONS = new Set(['install', 'upgrade', 'rollback'])

function helmAction(xapp: XApp): string {
  if (xapp.phase === 'Uninstalling') return 'uninstall'
  const done = (xapp.history[0]?.action ?? '').toLowerCase()
  const isOver = xapp.progress?.step === 'objects' || xapp.progress?.step === 'ready'
  if (isOver && ACTIONS.has(done)) return done
  if (xapp.reason === 'RollbackFailed') return 'rollback'
  return xapp.release.revision === null ? 'install' : 'upgrade'
}

export interface StepTimes {
  /** Seconds since the step began; null if it has no clock. */
  elapsed: number | null
  /** Seconds that the step may take; null if nothing ends it. */
  limit: number | null
  /** Seconds until the next try; null if there is none. */
  nextTry: number | null
}

/** Returns the times of the step that runs. `now`: milliseconds since 1970. */
export function stepTimes(xapp: XApp, now: number): StepTimes {
  const { progress } = xapp
  if (progress === null || progress.step === 'ready') return { elapsed: null, limit: null, nextTry: null }
  const started = millisecondsOf(progress.startedAt)
  const deadline = millisecondsOf(progress.deadline)
  const nextTry = millisecondsOf(progress.nextTryAt)
  return {
    elapsed: started === null ? null : Math.max(0, (now - started) / 1000),
    limit: started === null || deadline === null ? null : (deadline - started) / 1000,
    nextTry: nextTry === null ? null : Math.max(0, (nextTry - now) / 1000),
  }
}

function millisecondsOf(text: string | null): number | null {
  if (text === null) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : at
}

/** Returns whether nothing moves any more, so that looking every 15 seconds is enough. */
export function isSettled(
  xapp: Pick<XApp, 'phase' | 'stalled' | 'progress'>,
  healthStatus: string | undefined,
): boolean {
  if (xapp.phase === 'Uninstalling' || healthStatus === undefined || healthStatus === 'Progressing') return false
  if (xapp.stalled || xapp.phase === 'Suspended' || xapp.progress === null) return true
  return xapp.progress.step === 'ready' || (xapp.progress.step === 'objects' && xapp.progress.deadline === null)
}
