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
  if (hasNoObjects(preview))
    return [`It has no objects in ${namespace}: only the XApp goes.`, ...dependentsSentence(preview.dependents, 'it')]
  return [
    `This removes its Helm release from ${namespace}${countedSentence(preview)}.`,
    ...keptSentence(preview),
    ...claimsSentence(preview.claimsKept),
    ...dependentsSentence(preview.dependents, 'it'),
  ]
}

/** Returns what the caller may not see, with the right that would show it. */
export function removalGaps(preview: RemovalPreview, namespace: string): string[] {
  return GAPS.filter(({ part }) => preview[part] === null).map(
    ({ what, needs }) => `${what}: Not visible: needs ${needs} in ${namespace}`,
  )
}

/** The preview of one of several xApps. */
export interface RemovalOf {
  namespace: string
  preview: RemovalPreview
}

/** Returns the same sentences for several xApps: what goes with all of them, and how many keep running. */
export function removalSentencesOfSeveral(removals: readonly RemovalOf[]): string[] {
  const removed = removals.filter(isRemoved)
  const orphaned = removals.length - removed.length
  const going = removed.filter(({ preview }) => !hasNoObjects(preview))
  const without = removed.length - going.length
  const total = totalOf(going)
  return [
    ...(going.length === 0 ? [] : [`This removes ${countOf(going.length, 'Helm release')}${countedSentence(total)}.`]),
    ...keptSentence(total),
    ...claimsSentence(total.claimsKept),
    ...(without === 0 ? [] : [withoutSentence(without)]),
    ...dependentsSentence(totalOf(removed).dependents, 'them'),
    ...(orphaned === 0 ? [] : [orphanSentence(orphaned)]),
  ]
}

/** Returns what the caller may not see of several xApps, with the rights that would show it. */
export function removalGapsOfSeveral(removals: readonly RemovalOf[]): string[] {
  const going = removals.filter(isRemoved)
  return GAPS.flatMap(({ part, what, needs }) => {
    const hidden = going.filter(({ preview }) => preview[part] === null)
    if (hidden.length === 0) return []
    const namespaces = [...new Set(hidden.map(({ namespace }) => namespace))]
    return [`${what} of ${countOf(hidden.length, 'xApp')}: Not visible: needs ${needs} in ${namespaces.join(', ')}`]
  })
}

const GAPS = [
  { part: 'objects', what: 'Objects', needs: 'list, get secrets' },
  { part: 'pods', what: 'Pods', needs: 'list pods' },
  { part: 'claimsKept', what: 'Volume claims', needs: 'list persistentvolumeclaims and secrets' },
  { part: 'dependents', what: 'Dependent xApps', needs: 'list xapps' },
] as const

function isRemoved({ preview }: RemovalOf): boolean {
  return preview.deletionPolicy === 'Uninstall'
}

/** Nothing was installed, as far as that is visible. */
function hasNoObjects({ objects, kept, pods, claimsKept }: RemovalPreview): boolean {
  return objects?.length === 0 && kept?.length === 0 && pods === 0 && claimsKept?.length === 0
}

type Total = Omit<RemovalPreview, 'deletionPolicy'>

/** Adds up what is visible. */
function totalOf(removals: readonly RemovalOf[]): Total {
  const each = removals.map(({ preview }) => preview)
  const pods = each.flatMap((one) => (one.pods === null ? [] : [one.pods]))
  const dependents = removals.flatMap(({ namespace, preview }) =>
    (preview.dependents ?? []).map((name) => `${namespace}/${name}`),
  )
  return {
    objects: joined(each.map((one) => one.objects)),
    kept: joined(each.map((one) => one.kept)),
    pods: pods.length === 0 ? null : pods.reduce((sum, count) => sum + count, 0),
    claimsKept: joined(each.map((one) => one.claimsKept)),
    dependents: [...new Set(dependents)],
  }
}

/** Null if all of the lists are. */
function joined<T>(lists: readonly (readonly T[] | null)[]): T[] | null {
  const visible = lists.filter((list) => list !== null)
  return visible.length === 0 ? null : visible.flat()
}

function withoutSentence(count: number): string {
  return count === 1
    ? '1 xApp has no objects: only its XApp goes.'
    : `${count} xApps have no objects: only their XApps go.`
}

function orphanSentence(count: number): string {
  return count === 1
    ? '1 release keeps running; only its XApp goes.'
    : `${count} releases keep running; only their XApps go.`
}

function countedSentence({ objects, pods }: Total): string {
  const counted = [
    ...(objects === null ? [] : [countOf(objects.length, 'object')]),
    ...(pods === null ? [] : [countOf(pods, 'pod')]),
  ]
  return counted.length === 0 ? '' : `: ${counted.join(', ')}`
}

function keptSentence({ kept }: Total): string[] {
  if (kept === null || kept.length === 0) return []
  const stays = kept.length === 1 ? 'stays' : 'stay'
  return [`${countOf(kept.length, 'object')} ${stays}, because the chart says so.`]
}

function claimsSentence(claims: readonly string[] | null): string[] {
  if (claims === null || claims.length === 0) return []
  return [`The data of ${countOf(claims.length, 'volume claim')} stays.`]
}

function dependentsSentence(dependents: readonly string[] | null, on: 'it' | 'them'): string[] {
  if (dependents === null || dependents.length === 0) return []
  const [first = ''] = dependents
  const who = dependents.length === 1 ? `${first} depends` : `${dependents.length} xApps depend`
  return [`${who} on ${on}: the removal waits for ${on === 'it' ? 'them' : 'these'} first.`]
}

function countOf(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}
