import { describe, expect, it } from 'vitest'

import { ALLOWED, allOf, missingRightsText, refused, rightOf, type MissingRight } from '~/lib/rights'

function right(verb: string, resource: string, subresource: string | null = null): MissingRight {
  return { verb, group: '', resource, subresource }
}

describe('missingRightsText', () => {
  it('names the verbs of each resource', () => {
    const missing = [right('get', 'xapps'), right('delete', 'xapps'), right('get', 'pods', 'log')]
    expect(missingRightsText(missing, 'ric-xapps')).toBe(
      'Needs: get, delete xapps in ric-xapps; get pods/log in ric-xapps',
    )
  })

  it('does not put cluster-wide resources into a namespace', () => {
    expect(missingRightsText([right('create', 'namespaces')], 'ric')).toBe(
      'Needs: create namespaces in the whole cluster',
    )
  })

  it('has words for a refusal that is about no right', () => {
    expect(missingRightsText([])).toBe('You are not allowed to do this.')
  })
})

describe('rightOf', () => {
  const permissions = [
    { action: 'view', allowed: true, missing: [] },
    { action: 'uninstall', allowed: false, missing: [right('delete', 'xapps')] },
  ]

  it('allows what is allowed, and what the gateway does not tell', () => {
    expect(rightOf(permissions, 'view', 'ric')).toEqual(ALLOWED)
    expect(rightOf(permissions, 'deploy', 'ric')).toEqual(ALLOWED)
  })

  it('says what a refused action needs', () => {
    expect(rightOf(permissions, 'uninstall', 'ric')).toEqual(refused('Needs: delete xapps in ric'))
  })
})

it('allOf returns the first refusal', () => {
  expect(allOf(ALLOWED, undefined, null)).toEqual(ALLOWED)
  expect(allOf(ALLOWED, refused('a'), refused('b'))).toEqual(refused('a'))
})
