import { describe, expect, it } from 'vitest'

import {
  removalGaps,
  removalGapsOfSeveral,
  removalSentences,
  removalSentencesOfSeveral,
  type RemovalPreview,
} from '~/lib/xapp/removal'

function objects(count: number) {
  return Array.from({ length: count }, (_, index) => ({ kind: 'ConfigMap', name: `c${index}`, namespace: 'ric' }))
}

const PREVIEW: RemovalPreview = {
  objects: objects(12),
  kept: [],
  pods: 3,
  claimsKept: ['data-kpi-0'],
  deletionPolicy: 'Uninstall',
  dependents: [],
}

describe('the question before uninstalling', () => {
  it('says what goes and what stays', () => {
    expect(removalSentences(PREVIEW, 'ric-xapps').join(' ')).toBe(
      'This removes its Helm release from ric-xapps: 12 objects, 3 pods. The data of 1 volume claim stays.',
    )
  })

  it('says that the release keeps running', () => {
    expect(removalSentences({ ...PREVIEW, deletionPolicy: 'Orphan' }, 'ric')).toEqual([
      'The release keeps running; only the XApp goes.',
    ])
  })

  it('names what depends on it, and what the chart keeps', () => {
    const sentences = removalSentences({ ...PREVIEW, kept: objects(1), dependents: ['other'], claimsKept: [] }, 'ric')
    expect(sentences.slice(1)).toEqual([
      '1 object stays, because the chart says so.',
      'other depends on it: the removal waits for them first.',
    ])
  })

  it('never says none about what the caller may not see', () => {
    const hidden = { ...PREVIEW, objects: null, pods: null, claimsKept: null, dependents: null, kept: null }
    expect(removalSentences(hidden, 'ric')).toEqual(['This removes its Helm release from ric.'])
    expect(removalGaps(hidden, 'ric')).toHaveLength(4)
    expect(removalGaps(hidden, 'ric')[0]).toBe('Objects: Not visible: needs list, get secrets in ric')
    expect(removalGaps(PREVIEW, 'ric')).toEqual([])
  })
})

describe('the question before uninstalling several', () => {
  const of = (changes: Partial<RemovalPreview>, namespace = 'ric') => ({
    namespace,
    preview: { ...PREVIEW, ...changes },
  })

  it('adds up what goes and what stays', () => {
    const removals = [of({}), of({ pods: 2, claimsKept: [], kept: objects(1) })]
    expect(removalSentencesOfSeveral(removals).join(' ')).toBe(
      'This removes 2 Helm releases: 24 objects, 5 pods. 1 object stays, because the chart says so. ' +
        'The data of 1 volume claim stays.',
    )
  })

  it('never says of one that keeps running that it goes', () => {
    const orphan = of({ deletionPolicy: 'Orphan', claimsKept: ['data'], dependents: ['other'] })
    expect(removalSentencesOfSeveral([of({ claimsKept: [] }), orphan])).toEqual([
      'This removes 1 Helm release: 12 objects, 3 pods.',
      '1 release keeps running; only its XApp goes.',
    ])
    expect(removalSentencesOfSeveral([orphan, orphan])).toEqual(['2 releases keep running; only their XApps go.'])
  })

  it('counts no release of an xApp that was never installed', () => {
    const nothing = { objects: [], pods: 0, claimsKept: [] }
    expect(removalSentences({ ...PREVIEW, ...nothing, dependents: ['x'] }, 'ric')).toEqual([
      'It has no objects in ric: only the XApp goes.',
      'x depends on it: the removal waits for them first.',
    ])
    const never = of({ ...nothing, dependents: ['x'] })
    expect(removalSentencesOfSeveral([of({ claimsKept: [] }), never])).toEqual([
      'This removes 1 Helm release: 12 objects, 3 pods.',
      '1 xApp has no objects: only its XApp goes.',
      'ric/x depends on them: the removal waits for these first.',
    ])
    expect(removalSentencesOfSeveral([of(nothing), of(nothing)])).toEqual([
      '2 xApps have no objects: only their XApps go.',
    ])
    expect(removalSentences({ ...PREVIEW, ...nothing, pods: null }, 'ric')).toEqual([
      'This removes its Helm release from ric: 0 objects.',
    ])
  })

  it('names each xApp that depends on them once', () => {
    const removals = [of({ dependents: ['x'] }), of({ dependents: ['x'] }), of({ dependents: ['x'] }, 'other')]
    expect(removalSentencesOfSeveral(removals).at(-1)).toBe(
      '2 xApps depend on them: the removal waits for these first.',
    )
  })

  it('says of how many something is not visible, and counts the others', () => {
    const removals = [of({}), of({ objects: null, pods: null }), of({ objects: null }, 'other')]
    expect(removalSentencesOfSeveral(removals)[0]).toBe('This removes 3 Helm releases: 12 objects, 6 pods.')
    expect(removalGapsOfSeveral(removals)).toEqual([
      'Objects of 2 xApps: Not visible: needs list, get secrets in ric, other',
      'Pods of 1 xApp: Not visible: needs list pods in ric',
    ])
  })
})
