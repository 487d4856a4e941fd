import { expect, it } from 'vitest'

import { NO_CREDENTIALS } from '~/features/deploy/deployDraft'
import { saveCommands } from '~/features/deploy/newRepository'
import { NO_FIELDS } from '~/lib/deploy/form'

const FIELDS = { ...NO_FIELDS, repoName: 'acme', namespace: 'ric', url: 'https://charts.example ' }

it('copies what Save and browse does, as a request or as a manifest', () => {
  const { curl, kubectl } = saveCommands(FIELDS, NO_CREDENTIALS)
  expect(curl).toContain('{"name":"acme","namespace":"ric","url":"https://charts.example"}')
  expect(kubectl).toContain('"kind": "ChartRepository"')
  expect(kubectl).toContain('"url": "https://charts.example"')
})

it('copies no credentials, and says why kubectl cannot save them', () => {
  const credentials = { ...NO_CREDENTIALS, kind: 'basic', username: 'jane', password: 'hidden' } as const
  const { curl, kubectl } = saveCommands(FIELDS, credentials)
  expect(curl).toContain('<password>')
  expect(curl).not.toContain('hidden')
  expect(kubectl).toEqual({ none: 'The gateway creates the Secret of the credentials too: use curl.' })
})
