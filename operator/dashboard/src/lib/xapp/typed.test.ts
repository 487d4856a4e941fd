// @vitest-environment node
import { expect, it } from 'vitest'

import { setDraft } from '~/lib/drafts'

import { typedOf } from './typed'

it('knows the values that were typed last, on whichever page of an xApp', () => {
  expect(typedOf('ric', 'hello')).toEqual({ valuesText: null, upgrade: undefined })
  const upgrade = { typed: { owner: 'paul' }, valuesText: 'of the upgrade' }
  setDraft('upgrade:ric/hello', upgrade)
  expect(typedOf('ric', 'hello')).toEqual({ valuesText: 'of the upgrade', upgrade })
  setDraft('values:ric/hello', { text: 'of the values' })
  setDraft('values:ric/other', { text: 'of another one' })
  expect(typedOf('ric', 'hello').valuesText).toBe('of the values')
  setDraft('upgrade:ric/hello', upgrade)
  expect(typedOf('ric', 'hello').valuesText).toBe('of the upgrade')
  setDraft('upgrade:ric/hello', { ...upgrade, valuesText: null })
  expect(typedOf('ric', 'hello').valuesText).toBe('of the values')
})
