import { expect, test } from 'vitest'

import {
  comparedFields,
  fieldsOfRepository,
  NO_REPOSITORY,
  PLAIN_HTTP_LABEL,
  repositoryManifest,
  repositoryProblems,
  repositorySettings,
  settingsToCopy,
} from '~/lib/repositories/form'

const FILLED = { ...NO_REPOSITORY, name: 'acme', namespace: 'ric', url: 'https://charts.example.com ' }
const SAVED = {
  name: 'acme',
  namespace: 'ric',
  url: 'https://charts.example.com',
  interval: '5m',
  hasCredentials: true,
  hasCaBundle: true,
  insecureSkipTLSVerify: false,
  allowPlainHTTP: false,
  verify: null,
}

test('each missing field is named', () => {
  expect([...repositoryProblems(NO_REPOSITORY).keys()]).toEqual(['name', 'namespace', 'url'])
  expect([...repositoryProblems({ ...FILLED, credentials: 'basic' }).keys()]).toEqual(['username', 'password'])
  expect([...repositoryProblems({ ...FILLED, url: 'ftp://x', verify: 'cosign' }).keys()]).toEqual(['url', 'verify'])
  expect(repositoryProblems(FILLED).size).toBe(0)
})

test('credentials go over http only if that is chosen, kept ones too', () => {
  const plain = { ...FILLED, url: 'http://charts.example.com', username: 'jane', password: 'p', token: 't' }
  for (const credentials of ['basic', 'token', 'keep'] as const) {
    expect([...repositoryProblems({ ...plain, credentials })]).toEqual([
      ['url', expect.stringContaining(`select "${PLAIN_HTTP_LABEL}"`)],
    ])
    expect(repositoryProblems({ ...plain, credentials, allowPlainHTTP: true }).size).toBe(0)
    expect(repositoryProblems({ ...plain, credentials, url: FILLED.url }).size).toBe(0)
  }
  expect(repositoryProblems(plain).size).toBe(0)
})

test('credentials have fields of their own, and no place in a URL', () => {
  for (const url of ['https://jane:secret@charts.example.com', 'oci://jane@registry.example.com/charts']) {
    const problem = repositoryProblems({ ...FILLED, url }).get('url')
    expect(problem).toContain('Enter them under Credentials')
    expect(problem).not.toMatch(/jane|secret/)
  }
  expect(repositoryProblems({ ...FILLED, url: 'https://charts.example.com/@acme?a=b@c' }).size).toBe(0)
})

test('a new repository sends what was filled in', () => {
  expect(repositorySettings(FILLED, { isChange: false })).toEqual({ url: 'https://charts.example.com' })
  const fields = { ...FILLED, credentials: 'basic', username: 'jane', password: ' p ', token: 'left over' } as const
  expect(repositorySettings(fields, { isChange: false })).toMatchObject({ username: 'jane', password: ' p ' })
  expect(repositorySettings(fields, { isChange: false })).not.toHaveProperty('token')
})

test('a change keeps the saved credentials unless they are replaced or removed', () => {
  const kept = fieldsOfRepository(SAVED)
  expect(repositorySettings(kept, { isChange: true })).toEqual({ url: SAVED.url, interval: '5m' })
  const removed = { ...kept, credentials: 'none', certificates: 'usual' } as const
  expect(repositorySettings(removed, { isChange: true })).toMatchObject({ token: null, password: null, caBundle: null })
})

test('commands to copy have no secret', () => {
  const fields = { ...FILLED, credentials: 'token', token: 'abc', certificates: 'given', caBundle: 'PEM' } as const
  expect(JSON.stringify(settingsToCopy(repositorySettings(fields, { isChange: false })))).not.toMatch(/abc|PEM/)
  expect(repositoryManifest(fields)).toBeNull()
  expect(repositoryManifest(FILLED)).toContain('"kind": "ChartRepository"')
})

test('what is compared has no secret and no empty field', () => {
  const typed = { ...FILLED, credentials: 'basic', username: 'jane', password: 'p4ss' } as const
  expect(comparedFields(typed)).toContain('credentials: basic\nusername: <username>\npassword: <password>\n')
  expect(comparedFields(typed)).not.toMatch(/p4ss|jane|token/)
})
