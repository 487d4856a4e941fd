// @vitest-environment node
import { expect, it } from 'vitest'

import type { DeploySearch } from '~/lib/routeSearch'

import { draftOfDeleted, NO_DRAFT, typedFor, withAsked } from './deployDraft'

const FORM = {
  method: 'Remote Chart Repository',
  xAppName: 'hello',
  version: '0.1.0',
  owner: 'jane',
  chartName: 'hello',
  chartVersion: '0.1.0',
  timeout: '5m',
}

it('deploys an uninstalled xApp again with what was typed for its upgrade', () => {
  const upgrade = { typed: { owner: 'paul', timeout: '' }, upload: null, provenance: null }
  const draft = draftOfDeleted({ form: FORM, valuesText: 'greeting: mine', upgrade })
  expect(draft?.typed).toMatchObject({ xAppName: 'hello', version: '0.1.0', owner: 'paul', timeout: '' })
  expect(draft?.valuesText).toBe('greeting: mine')
})

it('takes the version from another chart, unless somebody typed it', () => {
  const other = { chartVersion: '0.2.0' }
  const typedOf = (typed: object): object =>
    draftOfDeleted({ form: FORM, valuesText: '', upgrade: { typed } })?.typed ?? {}
  expect(typedOf(other)).not.toHaveProperty('version')
  expect(typedOf({ ...other, version: '7.1' })).toMatchObject({ chartVersion: '0.2.0', version: '7.1' })
  expect(typedOf({})).toMatchObject({ version: '0.1.0' })
  const upload = { file: new File([], 'hello.tgz'), chart: null }
  const ofFile = draftOfDeleted({ form: FORM, valuesText: '', upgrade: { upload } })
  expect(ofFile?.upload).toBe(upload)
  expect(ofFile?.typed).not.toHaveProperty('version')
})

it('deploys it as it was if nothing was typed', () => {
  expect(draftOfDeleted({ form: FORM, valuesText: '', upgrade: undefined })?.typed).toMatchObject({ owner: 'jane' })
  expect(draftOfDeleted(undefined)).toBeNull()
})

const BARE: DeploySearch = {
  method: 'upload',
  repository: '',
  chart: '',
  version: '',
  namespace: '',
  releaseName: '',
  adopt: false,
  draft: '',
}

it('is typed for the address that it begins with, which a bare address does not change', () => {
  const adoption: DeploySearch = { ...BARE, namespace: 'ric-two', releaseName: 'by-hand', adopt: true }
  const draft = typedFor(NO_DRAFT, adoption)
  expect(withAsked(BARE, draft.asked)).toEqual(adoption)
  expect(typedFor(draft, adoption)).toBe(draft)
  const remote: DeploySearch = { ...BARE, method: 'repository', repository: 'ric/acme', chart: 'hello' }
  expect(withAsked(BARE, typedFor(NO_DRAFT, remote).asked)).toEqual(remote)
})

it('gives way to an address only where that says something', () => {
  const { asked } = typedFor(NO_DRAFT, { ...BARE, method: 'repository', namespace: 'ric-two', chart: 'hello' })
  expect(withAsked({ ...BARE, namespace: 'ric-one', draft: 'uid' }, asked)).toEqual({
    ...BARE,
    method: 'repository',
    namespace: 'ric-one',
    chart: 'hello',
    draft: 'uid',
  })
})
