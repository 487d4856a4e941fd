import { expect, it } from 'vitest'

import { offeredVersions } from '~/features/deploy/offeredVersions'

const VERSIONS = ['1.10.0', '1.9.2', '1.9.1', '0.2.0'].map((version) => ({ version }))

function offered(typed: string): string[] {
  return offeredVersions(VERSIONS, typed).map(({ version }) => version)
}

it('offers the versions that contain what is typed', () => {
  expect(offered('1.9')).toEqual(['1.9.2', '1.9.1'])
  expect(offered('')).toHaveLength(4)
})

it('offers all of them beside one that is chosen, and beside a range', () => {
  expect(offered('1.9.1')).toHaveLength(4)
  expect(offered('>=1 <2')).toHaveLength(4)
})
