/** What uninstalling an xApp removes, in words. */

export interface RemovalPreview {
  /** Null members: the caller may not see them. */
  objects: readonly { kind: string; name: string; namespace: string | null }[] | null
  kept: readonly { kind: string; name: string; namespace: string | null }[] | null
  pods: number | null
  claimsKept: readonly string[] | null
  deletionPolicy: 'Uninstall' | 'Orphan'
  dependents: readonly string[] | null
}

/** Returns the sentences of the question before uninstalling. */
export function removalSentences(preview: RemovalPreview, namespace: string): string[] {
  if (preview.deletionPolicy === 'Orphan') return ['The release keeps running; only the XApp goes.']
  const counted = [
    ...(preview.objects === null ? [] : [countOf(preview.objects.length, 'object')]),
    ...(preview.pods === null ? [] : [countOf(preview.pods, 'pod')]),
  ]
  const what = counted.length === 0 ? '' : `: ${counted.join(', ')}`
  return [
    `This removes its Helm release from ${namespace}${what}.`,
    ...keptSentence(preview),
    ...claimsSentence(preview.claimsKept),
    ...dependentsSentence(preview.dependents),
  ]
}

/** Returns what the caller may not see, with the right that would show it. */
export function removalGaps(preview: RemovalPreview, namespace: string): string[] {
  return [
    ...(preview.objects === null ? [`Objects: Not visible: needs list, get secrets in ${namespace}`] : []),
    ...(preview.pods === null ? [`Pods: Not visible: needs list pods in ${namespace}`] : []),
    ...(preview.claimsKept === null
      ? [`Volume claims: Not visible: needs list persistentvolumeclaims and secrets in ${namespace}`]
      : []),
    ...(preview.dependents === null ? [`xApps that depend on it: Not visible: needs list xapps in ${namespace}`] : []),
  ]
}

function keptSentence({ kept }: RemovalPreview): string[] {
  if (kept === null || kept.length === 0) return []
  const stays = kept.length === 1 ? 'stays' : 'stay'
  return [`${countOf(kept.length, 'object')} ${stays}, because the chart says so.`]
}

function claimsSentence(claims: readonly string[] | null): string[] {
  if (claims === null || claims.length === 0) return []
  return [`The data of ${countOf(claims.length, 'volume claim')} stays.`]
}

function dependentsSentence(dependents: readonly string[] | null): string[] {
  if (dependents === null || dependents.length === 0) return []
  const [first = ''] = dependents
  const who = dependents.length === 1 ? `${first} depends` : `${dependents.length} xApps depend`
  return [`${who} on it: the removal waits for them first.`]
}

function countOf(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}
