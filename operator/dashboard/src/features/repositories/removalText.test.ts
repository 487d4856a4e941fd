import { describe, expect, it } from 'vitest'

import type { Repository } from '~/api/queries/repositories'

import { removalText } from './removalText'

const repository = {
  namespace: 'ran',
  hasCredentials: false,
  hasCaBundle: false,
  insecureSkipTLSVerify: false,
  allowPlainHTTP: false,
  verify: null,
  usedBy: { count: 1, names: ['pacer'] },
} as unknown as Repository

const SAVED_AGAIN = 'The operator saves the address again'
const NOT_SAVED = 'The operator does not save it again, because it has more than an address'

describe('the question before a repository is removed', () => {
  it('says that an address is saved again', () => {
    expect(removalText(repository)).toContain(SAVED_AGAIN)
  })

  it.each([
    { hasCredentials: true },
    { hasCaBundle: true },
    { insecureSkipTLSVerify: true },
    { allowPlainHTTP: true },
    { verify: { provider: 'cosign' } },
  ])('says that a repository with %o is not', (settings) => {
    const text = removalText({ ...repository, ...settings } as Repository)
    expect(text).toContain(NOT_SAVED)
    expect(text).not.toContain(SAVED_AGAIN)
  })

  it('promises nothing if no xApp uses it', () => {
    expect(removalText({ ...repository, usedBy: { count: 0, names: [] } })).toBe(
      'This removes the saved address from ran. No xApp uses it.',
    )
  })
})
