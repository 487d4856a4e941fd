import { expect, it } from 'vitest'

import { rollbackCommands } from '~/lib/xapp/rollbackCommands'

it('rolls back the xApp that was looked at, and no other one of its name', () => {
  const { curl, kubectl } = rollbackCommands({ namespace: 'ric', name: 'kpi', uid: 'u-1' }, 3, '2026-01-02T03:04:05Z')
  expect(curl).toContain('"$GATEWAY"/api/xapps/ric/kpi/rollback')
  expect(curl).toContain(`-H 'If-Match: "u-1"'`)
  expect(curl).toContain(`--data-raw '{"revision":3}'`)
  expect(kubectl).toBe(
    `kubectl patch xapp kpi -n ric --type merge -p '{"metadata":{"uid":"u-1","annotations":{"xapp-operator.io/rollback-to":"3@2026-01-02T03:04:05Z"}}}'`,
  )
})
