// @vitest-environment node
import { expect, it } from 'vitest'

import { parseProblem } from '~/lib/problem'
import { ALLOWED, refused } from '~/lib/rights'

import { ALL_SEEN, unseenOfConfiguration, unseenOfDescription } from './unseenOfChart'

const HIDDEN = { layers: [{ from: 'chart', text: null }], schema: null }
const NO_SECRETS = refused('Needs: get, list secrets in ric')

it('names the missing right for what is not visible, and never calls it absent', () => {
  expect(unseenOfConfiguration(HIDDEN, NO_SECRETS).defaults).toBe('Not visible: needs get secrets.')
  const archive = { layers: [{ from: 'chart', text: 'a: 1\n' }], schema: null }
  expect(unseenOfConfiguration(archive, NO_SECRETS)).toEqual({
    defaults: null,
    schema: 'The schema of this chart, if it has one, is not visible: needs get secrets.',
  })
})

it('names no right to somebody who has it', () => {
  expect(unseenOfConfiguration(HIDDEN, ALLOWED)).toEqual({ defaults: 'The chart could not be read.', schema: null })
  const known = { layers: [{ from: 'chart', text: '' }], schema: null }
  expect(unseenOfConfiguration(known, ALLOWED)).toEqual(ALL_SEEN)
})

it('tells a chart that is being read from one that cannot be', () => {
  const answer = { status: 403, statusText: 'Forbidden', retryAfter: null }
  const asked = { method: 'GET', path: '/api/xapps/ric/a/chart', namespace: 'ric' }
  const missing = [{ verb: 'get', group: '', resource: 'secrets', subresource: null }]
  const error = parseProblem(JSON.stringify({ title: 'Forbidden', missing }), answer, asked)
  expect(unseenOfDescription({ data: undefined, error: null }).defaults).toBe('The gateway reads the chart.')
  expect(unseenOfDescription({ data: undefined, error }).defaults).toBe('Not visible. Needs: get secrets in ric.')
  expect(unseenOfDescription({ data: undefined, error: new Error() }).defaults).toBe('The chart could not be read.')
  expect(unseenOfDescription({ data: {}, error: null })).toEqual(ALL_SEEN)
})
