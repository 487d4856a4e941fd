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
  const isOver = hasFailed(xapp)
  return ORDER.map((id, index) => {
    const state = index < at || isReady ? 'done' : index > at ? 'waiting' : isOver ? 'failed' : 'current'
    return { id, label: labelOf(id, state, xapp), state }
  })
}

function hasFailed({ progress, stalled, reason }: Pick<XApp, 'progress' | 'stalled' | 'reason'>): boolean {
  return progress !== null && progress.step !== 'ready' && (stalled || isFailureReason(reason))
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
  /** Seconds since the step began, or until it failed for good; null if it has no clock. */
  elapsed: number | null
  /** Whether it has failed for good, so that its clock stands still. */
  isOver: boolean
  /** Seconds that the step may take; null if nothing ends it. */
  limit: number | null
  /** Seconds until the next try; null if there is none. */
  nextTry: number | null
}

/** Returns the times of the step that runs, or has failed. `now`: milliseconds since 1970. */
export function stepTimes(xapp: XApp, now: number): StepTimes {
  const { progress } = xapp
  if (progress === null || progress.step === 'ready') {
    return { elapsed: null, isOver: false, limit: null, nextTry: null }
  }
  const started = millisecondsOf(progress.startedAt)
  const deadline = millisecondsOf(progress.deadline)
  const nextTry = millisecondsOf(progress.nextTryAt)
  const failed = failedAt(xapp)
  return {
    elapsed: started === null ? null : Math.max(0, ((failed ?? now) - started) / 1000),
    isOver: failed !== null,
    limit: started === null || deadline === null ? null : (deadline - started) / 1000,
    nextTry: nextTry === null ? null : Math.max(0, (nextTry - now) / 1000),
  }
}

/** Returns when the step failed for good, by the clock of the cluster; null if it has not, or if that is not known. */
function failedAt(xapp: XApp): number | null {
  const { progress, stalled, conditions } = xapp
  if (progress?.nextTryAt !== null || !hasFailed(xapp)) return null
  const since = conditions.find(({ type }) => stalled && type === 'Stalled')?.lastTransitionTime
  return millisecondsOf(progress.deadline ?? since ?? null)
}

function millisecondsOf(text: string | null): number | null {
  if (text === null) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : at
}

/** Returns whether nothing moves any more, so that looking every 15 seconds is enough. */
export function isSettled(
  xapp: Pick<XApp, 'phase' | 'stalled' | 'progress' | 'reason'>,
  healthStatus: string | undefined,
): boolean {
  if (xapp.phase === 'Uninstalling' || healthStatus === undefined || healthStatus === 'Progressing') return false
  if (xapp.stalled || xapp.phase === 'Suspended' || xapp.progress === null) return true
  if (xapp.progress.step === 'objects') return xapp.progress.deadline === null || hasFailed(xapp)
  return xapp.progress.step === 'ready'
}
