// @vitest-environment node
import { expect, it } from 'vitest'

import { uninstallCommands } from '~/lib/xapps/uninstallCommands'

import { ifMatch } from './ifMatch'

it('names the xApp, and the generation if that matters', () => {
  expect(ifMatch({ uid: '1f-2e', generation: 3 })).toEqual({ 'If-Match': '"1f-2e/3"' })
  expect(ifMatch({ uid: '1f-2e', generation: null })).toEqual({ 'If-Match': '"1f-2e"' })
})

it('is part of the commands that uninstall', () => {
  const { curl } = uninstallCommands([
    { namespace: 'ric', name: 'a', uid: '1f' },
    { namespace: 'ric', name: 'b', uid: '2e' },
  ])
  expect(curl.match(/If-Match: "[^"]*"/g)).toEqual(['If-Match: "1f"', 'If-Match: "2e"'])
})
