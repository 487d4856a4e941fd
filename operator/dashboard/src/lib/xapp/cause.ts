/** Why an xApp is not Ready: the container at fault, and what is known about it. */

import { plainLines } from '~/lib/xapp/logLines'
import type { Container, HealthReport, Pod, XApp, XAppEvent } from '~/lib/xapp/types'

/** The container at fault. */
export interface Culprit {
  pod: string
  container: string
  reason: string | null
  exitCode: number | null
  restarts: number
  /** What its run left behind when it ended, if anything. */
  lastWords: string | null
  /** What it waits for, in the words of the kubelet. */
  waitsFor: string | null
  /** Without a run there is no log. */
  hasRun: boolean
  /** The log to read: the run before tells why a container restarts. */
  isPreviousRun: boolean
  /** Whether there is no run now: it has not begun, or waits after a crash. */
  isBetweenRuns: boolean
}

export interface Cause {
  /** What is wrong, in the words of the operator. */
  message: string
  culprit: Culprit | null
  /**
   * The revision that was rolled back to, if the message is about the one that was given up, and the container at fault
   * about this one.
   */
  restored: number | null
  /** Null also if it says only what the message, the container or its kubelet says. */
  lastEvent: XAppEvent | null
}

/** Of the last words of a container. */
export const LAST_LINES_SHOWN = 10

const CREATING_REASONS = new Set(['', 'ContainerCreating', 'PodInitializing'])

/** Returns whether a container is at fault: it waits for something that will not come by itself, or has failed. */
export function isFaulty(container: Container): boolean {
  if (container.state === 'waiting') return !CREATING_REASONS.has(container.reason ?? '')
  if (container.state === 'terminated') return (container.exitCode ?? 0) !== 0
  return container.reason === 'CrashLoopBackOff' || container.reason === 'OOMKilled'
}

/** Returns the container at fault: of a faulty one, or else of one that is not ready, that with the most restarts. */
export function findCulprit(pods: readonly Pod[]): Culprit | null {
  const all = pods.flatMap((pod) => pod.containers.map((container) => ({ pod, container })))
  const faulty = all.filter(({ container }) => isFaulty(container))
  const candidates =
    faulty.length > 0
      ? faulty
      : all.filter(({ pod, container }) => !pod.ready && !container.ready && hasBegun(container))
  const [worst] = candidates.toSorted((a, b) => b.container.restarts - a.container.restarts)
  return worst === undefined ? null : culpritOf(worst.pod, worst.container)
}

/** An init container that is done is not ready and nothing is wrong with it. */
function hasBegun({ init, state }: Container): boolean {
  return state === 'running' || (state === 'terminated' && !init)
}

function culpritOf(pod: Pod, container: Container): Culprit {
  return {
    pod: pod.name,
    container: container.name,
    reason: reasonOf(container),
    exitCode: container.exitCode ?? container.lastState?.exitCode ?? null,
    restarts: container.restarts,
    ...wordsAbout(container),
    hasRun: container.state !== 'waiting' || container.restarts > 0 || container.lastState !== null,
    isPreviousRun: container.restarts > 0,
    isBetweenRuns: container.state === 'waiting',
  }
}

const BACK_OFF = /^back-off \S+ restarting failed container/i

/** Tells words of the container, which may be anything, from those of the kubelet. A crash loop can have either. */
function wordsAbout({ state, reason, message }: Container): Pick<Culprit, 'lastWords' | 'waitsFor'> {
  const hasCrashed = state === 'terminated' || (reason === 'CrashLoopBackOff' && !BACK_OFF.test(message ?? ''))
  return { lastWords: hasCrashed ? message : null, waitsFor: state === 'waiting' && !hasCrashed ? message : null }
}

/** Returns why an xApp is not Ready, or null if it is. `health` is undefined until it is known. */
export function findCause(xapp: XApp, health: HealthReport | undefined): Cause | null {
  if (xapp.phase === 'Suspended') return null
  const isHealthy = health === undefined ? xapp.health === 'Healthy' : health.status === 'Healthy'
  const isReady = xapp.source === 'labels' ? isHealthy : xapp.ready
  if (isReady && isHealthy) return null
  const culprit = health === undefined ? null : findCulprit(health.pods)
  const message = (isReady ? health?.message : xapp.message) ?? health?.message ?? xapp.message ?? ''
  if (!isAtFault(xapp, culprit)) return null
  const lastEvent = lastEventOf(health, culprit)
  return {
    message,
    culprit,
    restored: restoredRevision(message, culprit),
    lastEvent: isSaid(lastEvent, message, culprit) ? null : lastEvent,
  }
}

const ROLLED_BACK = /^(.*); rolled back to revision (\d+)/s

function restoredRevision(message: string, culprit: Culprit | null): number | null {
  const [, failure = '', revision] = ROLLED_BACK.exec(message) ?? []
  if (revision === undefined || culprit === null) return null
  return failure.includes(`pod ${culprit.pod}:`) ? null : Number(revision)
}

const OUT_OF_MEMORY = 'OOMKilled'

/** Between its runs, a container waits in CrashLoopBackOff, whatever ended the last one. */
function reasonOf({ reason, lastState }: Container): string | null {
  const last = lastState?.reason ?? null
  return reason === 'CrashLoopBackOff' && last === OUT_OF_MEMORY ? last : (reason ?? last)
}

/** While a deployment runs as it should, nothing is wrong yet. */
function isAtFault(xapp: XApp, culprit: Culprit | null): boolean {
  // What fails while it goes does not keep it from going.
  if (xapp.phase === 'Uninstalling') return KEEPS_FROM_GOING.has(xapp.reason ?? '')
  if (culprit !== null && culprit.reason !== null) return true
  if (xapp.stalled || xapp.health === 'Degraded' || xapp.phase === 'Failed' || xapp.phase === 'Degraded') return true
  if (xapp.progress !== null && xapp.progress.nextTryAt !== null) return true
  return isFailureReason(xapp.reason) || (xapp.source === 'labels' && xapp.health !== 'Progressing')
}

const KEEPS_FROM_GOING = new Set(['UninstallFailed', 'AccessDenied'])
const NO_FAILURE = new Set(['Progressing', 'Suspended', 'Unlocked', 'DependencyNotReady'])

/**
 * Returns whether a reason of the condition Ready names something that a person should look at. Waiting for other xApps
 * is none: it ends by itself, or the xApp is stalled, in a cycle of them.
 */
export function isFailureReason(reason: string | null): boolean {
  return reason !== null && !reason.endsWith('Succeeded') && !NO_FAILURE.has(reason)
}

/** Returns the newest warning about the pod at fault, or else about anything of the xApp. */
function lastEventOf(health: HealthReport | undefined, culprit: Culprit | null): XAppEvent | null {
  const warnings = (health?.events ?? []).filter((event) => event.type === 'Warning')
  const own = warnings.find((event) => event.object.kind === 'Pod' && event.object.name === culprit?.pod)
  return own ?? warnings[0] ?? null
}

/** Returns whether all that an event says, or all that the kubelet says and a prefix, stands in the panel anyway. */
function isSaid(event: XAppEvent | null, message: string, culprit: Culprit | null): boolean {
  const text = plainWords(event?.message)
  const kubelet = plainWords(culprit?.waitsFor)
  if (text === '') return false
  if (kubelet !== '' && text.includes(kubelet)) return true
  // The kubelet writes "Error: ImagePullBackOff" of a container that waits for that reason.
  return [plainWords(message), kubelet, plainWords(`Error: ${culprit?.reason ?? ''}`)].some((said) =>
    said.includes(text),
  )
}

function plainWords(text: string | null | undefined): string {
  return words(text ?? '').toLowerCase()
}

/** Returns what stands before the container at fault; empty if the message is about it too. */
export function culpritLead({ restored }: Pick<Cause, 'restored'>): string {
  return restored === null ? '' : `In revision ${restored}, which is in force again: `
}

/** Returns the logs that a container has. After a crash, until it runs again, there is only that of the run before. */
export function logsOf({
  isBetweenRuns,
  restarts,
}: Pick<Culprit, 'isBetweenRuns' | 'restarts'>): { label: string; previous: boolean }[] {
  return [
    ...(isBetweenRuns ? [] : [{ label: 'Log', previous: false }]),
    ...(restarts > 0 ? [{ label: 'Log of previous run', previous: true }] : []),
  ]
}

/** Returns for example "CrashLoopBackOff, exit 42, 7 restarts". */
export function culpritText({ reason, exitCode, restarts }: Culprit): string {
  const parts = [
    reason ?? 'not ready',
    ...(exitCode === null ? [] : [`exit ${exitCode}`]),
    ...(restarts === 0 ? [] : [restarts === 1 ? '1 restart' : `${restarts} restarts`]),
  ]
  return parts.join(', ')
}

/** Returns a text for "Copy report": what a colleague needs to know about the failure. */
export function causeReport(xapp: XApp, cause: Cause, at: Date): string {
  const { culprit, lastEvent } = cause
  const said = kubeletMessage(cause)
  return [
    `xApp ${xapp.name} in namespace ${xapp.namespace}, ${xapp.phase}, revision ${xapp.release.revision ?? '-'}`,
    `at ${at.toISOString()}`,
    `Reason: ${xapp.reason ?? '-'}`,
    `Message: ${cause.message}`,
    ...(culprit === null
      ? []
      : [`${culpritLead(cause)}Pod ${culprit.pod}, container ${culprit.container}: ${culpritText(culprit)}`]),
    ...(lastEvent === null
      ? []
      : [`Last event: ${lastEvent.reason ?? ''}: ${lastEvent.message ?? ''}, ${timesText(lastEvent.count)}`]),
    ...(said === null ? [] : [`Kubelet: ${said}`]),
    ...(culprit?.lastWords ? ['Last words:', plainLines(culprit.lastWords, LAST_LINES_SHOWN)] : []),
  ].join('\n')
}

/** Returns what the kubelet says about the container, unless the message of the operator has it already, in one line. */
export function kubeletMessage({ message, culprit }: Pick<Cause, 'message' | 'culprit'>): string | null {
  const waitsFor = culprit?.waitsFor ?? ''
  return words(message).includes(words(waitsFor)) ? null : waitsFor
}

function words(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

export function timesText(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}
