// @vitest-environment node
import { describe, expect, it } from 'vitest'

import { composedName } from './names'

describe('the composed name', () => {
  it.each([
    ['Acme', 'RAN', 'Hello World', 'acme-ran-hello-world'],
    ['O-RAN Alliance', 'x', 'ä.b', 'o-ran-alliance-x-b'],
    ['\u212a', 'a', 'b', null],
    ['', 'a', 'b', null],
  ])('%s, %s, %s', async (organization, team, xAppName, name) => {
    expect(await composedName({ organization, team, xAppName })).toBe(name)
  })

  it('is cut to 40 characters and a hash when it is long', async () => {
    const name = await composedName({ organization: 'o'.repeat(30), team: 't', xAppName: 'x'.repeat(30) })
    expect(name).toHaveLength(53)
    expect(name).toMatch(/^o{30}-t-x{7}-[0-9a-f]{12}$/)
  })
})
