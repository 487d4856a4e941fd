import { expect, it } from 'vitest'

import { refreshCommands } from '~/lib/repositories/commands'

it('has a repository read again', () => {
  const { curl, kubectl } = refreshCommands({ namespace: 'ric', name: 'acme' }, '2026-01-02T03:04:05Z')
  expect(curl).toContain('-X POST "$GATEWAY"/api/repositories/ric/acme/refresh')
  expect(kubectl).toBe(
    'kubectl annotate chartrepository acme -n ric xapp-operator.io/reconcile-at=2026-01-02T03:04:05Z --overwrite',
  )
})
