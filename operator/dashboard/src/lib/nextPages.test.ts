import { describe, expect, it } from 'vitest'

import { nextPages } from '~/lib/nextPages'

describe('nextPages', () => {
  it.each([
    ['GET', '/api/xapps', '/xapps'],
    ['GET', '/api/xapps/ric/hello/health', '/xapps/ric/hello'],
    ['GET', '/api/xapps/ric/hello/logs', '/xapps/ric/hello/logs'],
    ['GET', '/api/xapps/ric/hello/history', '/xapps/ric/hello/history'],
    ['PUT', '/api/deployment/xapp/ric/hello', '/xapps/ric/hello/upgrade'],
    ['GET', '/api/repositories/ric/acme/charts', '/repositories/ric/acme'],
    ['GET', '/api/repositories/ric/acme/charts/a%2Fb%24c/versions', '/repositories/ric/acme/a%2Fb%24c'],
  ])('%s %s is the page %s', (method, path, page) => {
    expect(nextPages([{ method, path }]).map((each) => each.path)).toEqual([page])
  })

  it.each([
    ['DELETE', '/api/charts/ric/hello'],
    ['DELETE', '/api/xapps'],
    ['GET', '/api/repositories/ric/acme/charts/{chart}/versions'],
    ['GET', '//evil.example.com/api/xapps'],
    ['GET', '/api/xapps/ric/hello/health/more'],
  ])('%s %s has no page', (method, path) => {
    expect(nextPages([{ method, path }])).toEqual([])
  })
})
