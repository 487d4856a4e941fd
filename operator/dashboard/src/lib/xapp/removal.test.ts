import { describe, expect, it } from 'vitest'

import { removalGaps, removalSentences, type RemovalPreview } from '~/lib/xapp/removal'

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
