import { describe, expect, it } from 'vitest'

import { ALLOWED } from '~/lib/rights'
import { changeRight } from '~/lib/xapp/changeRight'

describe('changeRight', () => {
  it('refuses a rollback of a suspended xApp, and nothing else of it', () => {
    const suspended = { source: 'xapp', phase: 'Suspended' } as const
    expect(changeRight(suspended, ALLOWED, 'rollback')).toMatchObject({ reason: 'It is suspended: resume it first' })
    expect(changeRight(suspended, ALLOWED, 'upgrade')).toEqual(ALLOWED)
    expect(changeRight({ ...suspended, phase: 'Deployed' }, ALLOWED, 'rollback')).toEqual(ALLOWED)
  })
})
