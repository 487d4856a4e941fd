// @vitest-environment node
import { afterEach, describe, expect, it } from 'vitest'

import { NO_FIELDS, type DeployFields, type Method } from '~/lib/deploy/form'
import { drafts, isAnythingUnsent } from '~/lib/drafts'

import { NO_DRAFT, type DeployDraft } from './deployDraft'
import { NEW_REPOSITORY } from './newRepository'
import { handOver, takeHandedOver, withHandedOver } from './upgradeFromDeploy'
import { newUpgradeDraft, type UpgradeDraft } from './useUpgradeForm'

const UPGRADE = newUpgradeDraft(
  { form: {}, uid: 'u', generation: 3, values: null, archive: null },
  'greeting: theirs\n',
)
const FILE = { file: new File(['x'], 'hello.tgz'), chart: null }
const REMOTE = { chartName: 'hello', chartVersion: '0.2.0', repoName: 'acme', url: 'https://charts.example' }

afterEach(() => drafts.set(new Map()))

function handed(
  draft: Partial<DeployDraft>,
  { from, to, fields = {} }: { from: Method; to: Method; fields?: Partial<DeployFields> },
): UpgradeDraft {
  handOver('ric', 'a', { draft: { ...NO_DRAFT, ...draft }, fields: { ...NO_FIELDS, ...fields }, method: from })
  const taken = takeHandedOver('ric', 'a')
  if (taken === null) throw new Error('nothing was handed over')
  return withHandedOver(UPGRADE, taken, to)
}

describe('the draft of an upgrade that begins on the page that deploys', () => {
  it('has the file, the values and the fields that an upgrade can change', () => {
    const typed = { xAppName: 'hello', namespace: 'ric', version: '7', owner: '', timeout: '4m', adopt: true }
    const draft = handed({ typed, upload: FILE, valuesText: 'greeting: mine\n' }, { from: 'upload', to: 'upload' })
    expect(draft).toEqual({
      ...UPGRADE,
      typed: { version: '7', timeout: '4m' },
      upload: FILE,
      valuesText: 'greeting: mine\n',
    })
  })

  it('keeps the values that are stored where none, or the same, were typed', () => {
    expect(handed({ upload: FILE }, { from: 'upload', to: 'upload' }).valuesText).toBeNull()
    const same = { valuesText: UPGRADE.baseValues }
    expect(handed(same, { from: 'upload', to: 'upload' }).valuesText).toBeNull()
  })

  it('has the chart of a saved repository, and says when a chart stays out', () => {
    const remote = { from: 'repository', fields: REMOTE } as const
    expect(handed({ repository: 'ric/acme' }, { ...remote, to: 'repository' }).typed).toEqual(REMOTE)
    expect(handed({ repository: 'ric/acme' }, { ...remote, to: 'upload' })).toMatchObject({
      typed: {},
      isChartLeftOut: true,
    })
    expect(handed({ repository: NEW_REPOSITORY }, { ...remote, to: 'repository' })).toMatchObject({
      typed: {},
      isChartLeftOut: true,
    })
    const file = handed({ upload: FILE }, { from: 'upload', to: 'repository' })
    expect(file).toMatchObject({ upload: null, isChartLeftOut: true })
  })

  it('is handed over once, and is nothing more that could be lost', () => {
    handOver('ric', 'a', { draft: NO_DRAFT, fields: NO_FIELDS, method: 'upload' })
    expect(isAnythingUnsent()).toBe(false)
    expect(takeHandedOver('ric', 'other')).toBeNull()
    expect(takeHandedOver('ric', 'a')).not.toBeNull()
    expect(takeHandedOver('ric', 'a')).toBeNull()
  })
})
