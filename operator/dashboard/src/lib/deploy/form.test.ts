// @vitest-environment node
import { describe, expect, it } from 'vitest'

import {
  deploymentForm,
  fieldsOfForm,
  formProblems,
  identityOf,
  methodOfForm,
  NO_FIELDS,
  numericVersion,
  ownerOf,
  versionNote,
  withoutContradictions,
  type DeployFields,
} from './form'

const FIELDS: DeployFields = {
  ...NO_FIELDS,
  xAppName: 'hello-world',
  version: '0.2.1',
  organization: 'acme',
  team: 'ran',
  owner: 'jane',
  namespace: 'ric-xapps',
}

describe('the form of a deployment', () => {
  it('is complete with the fields of the identity', () => {
    expect(formProblems(FIELDS, 'upload').size).toBe(0)
    expect([...formProblems(FIELDS, 'repository').keys()]).toEqual([
      'xAppForm.chartName',
      'xAppForm.repoName',
      'xAppForm.url',
    ])
  })

  it.each([
    ['version', 'v1.0', 'dotted numeric'],
    ['version', '1.0-rc', 'dotted numeric'],
    ['namespace', 'Ric', 'lower-case'],
    ['namespace', '', 'missing'],
    ['organization', '---', 'at least one letter'],
    ['timeout', '5', 'duration'],
    ['timeout', '25h', 'between 1s and 24h'],
    ['timeout', '999ms', 'between 1s and 24h'],
    ['releaseName', 'a'.repeat(54), 'at most 53'],
  ] as const)('refuses %s %j', (name, value, message) => {
    expect(formProblems({ ...FIELDS, [name]: value }, 'upload').get(`xAppForm.${name}`)).toContain(message)
  })

  it('sends what is filled in, and only that', () => {
    expect(deploymentForm(FIELDS, 'upload')).toEqual({
      method: 'Upload Chart',
      xAppName: 'hello-world',
      version: '0.2.1',
      organization: 'acme',
      team: 'ran',
      owner: 'jane',
      namespace: 'ric-xapps',
    })
    const remote = {
      ...FIELDS,
      chartName: 'c',
      repoName: 'r',
      url: 'https://x',
      timeout: ' 5m ',
      onFailure: 'none',
      adopt: true,
    } as const
    expect(deploymentForm(remote, 'repository')).toMatchObject({
      chartName: 'c',
      timeout: '5m',
      upgrade: { onFailure: 'none' },
      adopt: true,
    })
  })

  it('comes back from a stored one', () => {
    const remote: DeployFields = {
      ...FIELDS,
      chartName: 'c',
      repoName: 'r',
      url: 'https://x',
      onFailure: 'rollback',
      deletionPolicy: 'Orphan',
    }
    const form = deploymentForm(remote, 'repository')
    expect(fieldsOfForm(form)).toEqual(remote)
    expect(methodOfForm(form)).toBe('repository')
  })
})

it.each([
  ['0.2.1', '0.2.1'],
  ['1.2.3-rc.1+build', '1.2.3'],
  ['v2', '2'],
  ['latest', ''],
])('takes the version %s as %s', (chart, version) => {
  expect(numericVersion(chart)).toBe(version)
})

it('takes over the identity that a record tells, and leaves the rest to the others', () => {
  expect(identityOf({ organization: 'ACME Corp', team: 'ran', version: 'v0.1.0-rc.1' })).toEqual({
    organization: 'ACME Corp',
    team: 'ran',
    version: '0.1.0',
  })
  expect(identityOf({ organization: null, team: '', version: 'latest' })).toEqual({})
})

it('names a service account by its name', () => {
  expect(ownerOf('system:serviceaccount:ric-xapps:jane')).toBe('jane')
  expect(ownerOf('jane@example.com')).toBe('jane@example.com')
})

it('prefers what a link asks for to what was typed before', () => {
  const nothing = { chart: '', version: '', namespace: '', releaseName: '', adopt: false }
  const typed = { namespace: 'mine', team: 'ran', xAppName: 'old', version: '1.0' }
  expect(withoutContradictions(typed, nothing)).toBe(typed)
  expect(withoutContradictions(typed, { ...nothing, namespace: 'mine' })).toBe(typed)
  expect(withoutContradictions(typed, { ...nothing, namespace: 'theirs' })).toEqual({
    team: 'ran',
    xAppName: 'old',
    version: '1.0',
  })
  expect(withoutContradictions({ ...typed, chartName: 'a' }, { ...nothing, chart: 'b' })).toEqual({
    namespace: 'mine',
    team: 'ran',
  })
  expect(withoutContradictions({ adopt: false }, { ...nothing, adopt: true })).toEqual({})
})

it('says where a version comes from that the chart writes in another way', () => {
  expect(versionNote('0.3.0', '0.3.0-rc.1')).toBe('From 0.3.0-rc.1: the version of an xApp has only numbers and dots.')
  expect(versionNote('0.2', '0.2.x')).toContain('From 0.2.x')
  expect([versionNote('0.3.0', '0.3.0'), versionNote('7.1', '0.3.0-rc.1'), versionNote('', 'latest')]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})
