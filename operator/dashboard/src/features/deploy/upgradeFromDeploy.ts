/** What the page /deploy hands to the page that upgrades the xApp whose name is taken. */

import type { DeployFields, FieldName, Method } from '~/lib/deploy/form'
import { discardDraft, drafts, setDraft } from '~/lib/drafts'

import type { DeployDraft } from './deployDraft'
import { NEW_REPOSITORY } from './newRepository'
import type { UpgradeDraft } from './useUpgradeForm'

interface HandedOver extends Pick<UpgradeDraft, 'typed' | 'upload' | 'provenance'> {
  method: Method
  /** Null if none is saved: an upgrade saves no repository. */
  chart: Partial<DeployFields> | null
  valuesText: string
}

/** What an upgrade can change, besides chart and values. */
const CHANGEABLE: readonly FieldName[] = [
  'version',
  'owner',
  'serviceAccountName',
  'timeout',
  'onFailure',
  'deletionPolicy',
]

function keyOf(namespace: string, name: string): string {
  return `upgrade-from-deploy:${namespace}/${name}`
}

interface Deployment {
  draft: DeployDraft
  fields: DeployFields
  method: Method
}

/** Keeps what was chosen and typed for the page that upgrades this xApp. */
export function handOver(namespace: string, name: string, { draft, fields, method }: Deployment): void {
  const typed = Object.fromEntries(Object.entries(draft.typed).filter(isChange))
  const { chartName, chartVersion, repoName, url } = fields
  const chart = draft.repository === NEW_REPOSITORY ? null : { chartName, chartVersion, repoName, url }
  const { upload, provenance, valuesText } = draft
  const handed: HandedOver = { method, typed, chart, upload, provenance, valuesText }
  // The page /deploy keeps it as well.
  setDraft(keyOf(namespace, name), handed, false)
}

function isChange([name, value]: [string, unknown]): boolean {
  return CHANGEABLE.includes(name as FieldName) && value !== ''
}

/** Returns what was handed over for this xApp, once. */
export function takeHandedOver(namespace: string, name: string): HandedOver | null {
  const key = keyOf(namespace, name)
  const handed = drafts.get().get(key) as HandedOver | undefined
  discardDraft(key)
  return handed ?? null
}

/** Returns the draft of an upgrade with what was handed over. `method`: how the chart of the xApp is found. */
export function withHandedOver(draft: UpgradeDraft, handed: HandedOver, method: Method): UpgradeDraft {
  const { valuesText } = handed
  const next: UpgradeDraft = {
    ...draft,
    typed: { ...draft.typed, ...handed.typed },
    valuesText: valuesText === '' ? draft.valuesText : valuesText === draft.baseValues ? null : valuesText,
  }
  if (handed.method !== method) return { ...next, isChartLeftOut: handed.upload !== null || isChosen(handed.chart) }
  if (method === 'upload') return { ...next, upload: handed.upload, provenance: handed.provenance }
  if (handed.chart === null) return { ...next, isChartLeftOut: true }
  return { ...next, typed: { ...next.typed, ...(isChosen(handed.chart) ? handed.chart : {}) } }
}

function isChosen(chart: Partial<DeployFields> | null): boolean {
  return chart !== null && chart.chartName !== '' && chart.repoName !== ''
}
