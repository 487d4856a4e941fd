/** What a person can do about an xApp that is not Ready. */

import { asksToAdopt } from '~/lib/adoption'
import type { Cause } from '~/lib/xapp/cause'
import type { Revision, XApp } from '~/lib/xapp/types'

export type Remedy =
  | 'values'
  | 'upgrade'
  | 'retry'
  | 'rollback'
  | 'reconcile'
  | 'resume'
  | 'events'
  | 'repositories'
  | 'adopt'
  | 'takeOver'

export interface Advice {
  text: string
  remedies: readonly Remedy[]
}

const IMAGE: Advice = {
  text: 'Check the name and tag of the image in the values, and that the nodes reach its registry and may pull from it.',
  remedies: ['values', 'upgrade', 'retry'],
}

const START: Advice = {
  text: 'The container does not start: a ConfigMap, a Secret or a key that it names is missing, or its command is wrong. Create what is missing or correct the values.',
  remedies: ['values', 'upgrade', 'retry'],
}

/** By the reason of the container at fault. */
const BY_CONTAINER: Readonly<Record<string, Advice>> = {
  CrashLoopBackOff: {
    text: 'The program ends again and again. Its log says why: correct the values, or upgrade to a version that works.',
    remedies: ['values', 'upgrade', 'retry'],
  },
  OOMKilled: {
    text: 'The container needs more memory than its limit. Raise the memory limit in the values.',
    remedies: ['values', 'upgrade', 'retry'],
  },
  ImagePullBackOff: IMAGE,
  ErrImagePull: IMAGE,
  ErrImageNeverPull: IMAGE,
  InvalidImageName: IMAGE,
  ImageInspectError: IMAGE,
  RegistryUnavailable: IMAGE,
  SignatureValidationFailed: IMAGE,
  CreateContainerConfigError: START,
  CreateContainerError: START,
  RunContainerError: START,
}

/** By the reason of the condition Ready. */
const BY_REASON: Readonly<Record<string, Advice>> = {
  InstallFailed: {
    text: 'Helm could not install the chart. Correct the values or the chart.',
    remedies: ['values', 'upgrade', 'retry'],
  },
  UpgradeFailed: {
    text: 'Helm could not upgrade. Correct the values or the chart.',
    remedies: ['values', 'upgrade', 'retry'],
  },
  RollbackFailed: {
    text: 'Helm could not roll back. Upgrade to a version that works, or try again.',
    remedies: ['upgrade', 'retry'],
  },
  UninstallFailed: {
    text: 'Helm could not remove everything. The events say what holds it back.',
    remedies: ['events', 'retry'],
  },
  HealthCheckFailed: {
    text: 'The objects did not become healthy in time. Correct the values, or upgrade to a version that works.',
    remedies: ['values', 'upgrade', 'retry'],
  },
  ChartPullFailed: {
    text: 'The chart could not be fetched. Check the address of the repository, the name and the version of the chart.',
    remedies: ['upgrade', 'reconcile', 'repositories'],
  },
  ChartInvalid: {
    text: 'The chart cannot be used. Upgrade with a corrected chart.',
    remedies: ['upgrade', 'reconcile'],
  },
  ValuesInvalid: {
    text: 'The values are refused. Correct the field that the message names.',
    remedies: ['values', 'retry'],
  },
  // Only in a cycle: otherwise nothing is wrong.
  DependencyNotReady: {
    text: 'The xApps wait for each other. Take one of them out of the dependsOn of another, with kubectl or the API.',
    remedies: [],
  },
  AccessDenied: {
    text: 'A right is missing, or the release belongs to somebody else. Show the message to your administrator, then try again.',
    remedies: ['retry'],
  },
  Suspended: { text: 'The operator leaves it alone until it is resumed.', remedies: ['resume'] },
}

const OTHERWISE: Advice = {
  text: 'Correct the values, or upgrade to a version that works.',
  remedies: ['values', 'upgrade', 'retry'],
}

const LABELS_ONLY: Advice = {
  text: 'It was installed by other means. Mend it there, or adopt it to change it here.',
  remedies: ['adopt'],
}

const TAKE_OVER: Advice = {
  text: 'Something of that name exists already. Adopt it to go on with it, or remove it and try again.',
  remedies: ['takeOver', 'retry'],
}

const UNSCHEDULABLE = /didn't match|Insufficient|unschedulable|nodes are available/i

const SCHEDULING: Advice = {
  text: 'No node has room for the pod, or may run it. Lower its requests in the values, correct its node selector, or ask for more nodes.',
  remedies: ['values', 'upgrade', 'retry'],
}

/** Returns what helps while nothing is wrong, but others must be Ready before; null if it has not to wait for them. */
export function adviceWhileWaiting({ phase, reason }: Pick<XApp, 'phase' | 'reason'>): Advice | null {
  if (reason !== 'DependencyNotReady' || phase === 'Uninstalling') return null
  return {
    text: 'It goes on by itself when the xApps that the message names are Ready. Deploy those that do not exist yet.',
    remedies: ['reconcile'],
  }
}

/** Returns what to do about a cause. Rolling back is offered if there is a revision to go back to. */
export function adviceFor(xapp: XApp, cause: Cause): Advice {
  if (xapp.source === 'labels') return LABELS_ONLY
  const { text, remedies } = specificAdvice(xapp, cause)
  const helps = remedies.includes('values') || remedies.includes('upgrade')
  return { text, remedies: helps && rollbackTarget(xapp) !== null ? [...remedies, 'rollback'] : remedies }
}

function specificAdvice(xapp: XApp, { culprit, message }: Cause): Advice {
  if (asksToAdopt(message)) return TAKE_OVER
  const ofContainer = lookUp(BY_CONTAINER, culprit?.reason)
  const ofReason = lookUp(BY_REASON, xapp.reason)
  const isAboutPods = xapp.reason === null || xapp.reason === 'HealthCheckFailed' || !isKnownFailure(xapp.reason)
  if (isAboutPods && ofContainer !== undefined) return ofContainer
  if (isAboutPods && UNSCHEDULABLE.test(message)) return SCHEDULING
  return ofReason ?? ofContainer ?? OTHERWISE
}

function isKnownFailure(reason: string): boolean {
  return Object.hasOwn(BY_REASON, reason)
}

function lookUp(table: Readonly<Record<string, Advice>>, reason: string | null | undefined): Advice | undefined {
  return reason !== null && reason !== undefined && Object.hasOwn(table, reason) ? table[reason] : undefined
}

const ROLLBACK = /^Rollback to ([0-9]{1,10})$/

/**
 * Returns the newest revision that worked and is another one than that in force, or null.
 *
 * Helm calls each revision superseded that a later one replaced, also one that never became healthy. The operator keeps
 * whether it did, but not of revisions from before an upgrade of the operator or from other hands. Of those, one that a
 * rollback left behind is known: revision 3 that is a "Rollback to 1" is 1 again, and 2 was given up.
 */
export function rollbackTarget(xapp: Pick<XApp, 'history' | 'release'>): number | null {
  const newestFirst = xapp.history.toSorted((a, b) => b.revision - a.revision)
  let inForce = xapp.release.revision ?? newestFirst[0]?.revision ?? 0
  for (const each of newestFirst) {
    if (each.revision === inForce) inForce = restoredRevision(each) ?? inForce
    else if (each.revision < inForce && mayHaveWorked(each)) return each.revision
  }
  return null
}

/** Returns the revision whose content a rollback brought back; null for what is no rollback. */
function restoredRevision({ revision, description }: Revision): number | null {
  const [, digits] = ROLLBACK.exec(description ?? '') ?? []
  return digits === undefined || Number(digits) >= revision ? null : Number(digits)
}

function mayHaveWorked({ status, wasHealthy }: Revision): boolean {
  return (status === 'superseded' || status === 'deployed') && wasHealthy !== false
}
