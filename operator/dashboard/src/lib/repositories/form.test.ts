import { expect, test } from 'vitest'

import {
  fieldsOfRepository,
  NO_REPOSITORY,
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
