import { describe, expect, it } from 'vitest'

import {
  describeError,
  fieldErrors,
  namespaceOfRequest,
  NotConnected,
  parseProblem,
  parseRetryAfter,
  reportOf,
} from '~/lib/problem'

const RESPONSE = { status: 422, statusText: 'Unprocessable Entity', retryAfter: null }
const REQUEST = { method: 'POST', path: '/api/deployment/xapp' }

function problem(body: unknown, response: Partial<typeof RESPONSE & { retryAfter: string | null }> = {}) {
  return parseProblem(typeof body === 'string' ? body : JSON.stringify(body), { ...RESPONSE, ...response }, REQUEST)
}

describe('parseProblem', () => {
  it('reads problem details', () => {
    const found = problem({
      type: 'urn:xapp-operator:problem:invalid-input',
      title: 'Invalid input',
      status: 422,
      detail: 'two fields are wrong',
      instance: '/api/deployment/xapp',
      errors: [
        { field: 'team', message: 'is empty' },
        { field: 'values.image.tag', message: 'is no text', line: 4, column: 9 },
      ],
      missing: [],
      next: [{ method: 'GET', path: '/api/xapps' }],
    })
    expect(found.next).toEqual([{ method: 'GET', path: '/api/xapps' }])
    expect(found.is('invalid-input')).toBe(true)
    expect(found.is('input')).toBe(false)
    expect(found.errors[1]).toEqual({ field: 'values.image.tag', message: 'is no text', line: 4, column: 9 })
    expect(describeError(found)).toEqual({ title: 'Invalid input', detail: 'two fields are wrong' })
  })

  it.each([
    ['<html>bad gateway</html>'],
    ['null'],
    ['[]'],
    ['{"errors": [1, null, {"field": 3}], "missing": "x", "next": [1, null, {"path": "/"}]}'],
  ])('makes a problem of any other body: %s', (body) => {
    const found = problem(body, { status: 502, statusText: '' })
    expect(found.title).toBe('Status 502')
    expect(found.errors).toEqual([])
    expect(found.missing).toEqual([])
    expect(found.next).toEqual([])
  })

  it.each([
    ['precondition-failed', 412, 'somebody changed it meanwhile: send the change with the new generation'],
    ['replaced-meanwhile', 412, 'the xApp hello has another uid than If-Match says'],
    ['session-ended', 401, 'sign in again, or send a valid bearer token'],
    ['unauthenticated', 401, 'send a bearer token of the cluster: Authorization: Bearer <token>'],
  ])('says it in the words of the page: %s', (kind, status, detail) => {
    const found = problem({ type: `urn:xapp-operator:problem:${kind}`, title: 'Refused', status, detail }, { status })
    expect(describeError(found).title).toBe('Refused')
    expect(describeError(found).detail).not.toMatch(/bearer|If-Match|generation|uid|send/i)
    expect(reportOf(found)).toContain(detail)
  })

  it('says which rights are missing', () => {
    const found = problem({
      title: 'Forbidden',
      detail: 'not allowed',
      missing: [{ verb: 'delete', group: 'xapp-operator.io', resource: 'xapps', subresource: null }],
    })
    expect(describeError(found).detail).toBe('not allowed. Needs: delete xapps')
    const { missing } = found
    expect(describeError(problem({ detail: 'Not allowed.', missing })).detail).toBe('Not allowed. Needs: delete xapps')
    expect(describeError(problem({ detail: 'Not allowed.' })).detail).toBe('Not allowed.')
  })

  it('says in which namespace a right is missing', () => {
    const missing = [{ verb: 'get', group: 'xapp-operator.io', resource: 'xapps', subresource: null }]
    const found = parseProblem(JSON.stringify({ missing }), RESPONSE, { ...REQUEST, namespace: 'ric-xapps' })
    expect(found.needs).toBe('Needs: get xapps in ric-xapps')
    expect(problem({ detail: 'wrong' }).needs).toBe('')
  })

  it.each([
    ['/api/xapps/ric-xapps/hello', 'ric-xapps'],
    ['/api/repositories/ric-xapps/acme/charts?page=2', 'ric-xapps'],
    ['/api/xapps?namespace=ric-xapps', 'ric-xapps'],
    ['/api/xapps?namespace=a&namespace=b', undefined],
    ['/api/xapps', undefined],
  ])('finds the namespace of %s', (path, namespace) => {
    expect(namespaceOfRequest(new URL(path, 'http://gateway'))).toBe(namespace)
  })

  it('reports what was asked and answered', () => {
    const report = reportOf(
      problem({ title: 'Invalid', detail: 'wrong', errors: [{ field: 'team', message: 'empty' }] }),
    )
    expect(report).toMatch(
      /^POST \/api\/deployment\/xapp\nat \d{4}-.*\n422 Invalid \(about:blank\)\nwrong\nteam: empty$/,
    )
  })
})

describe('fieldErrors', () => {
  it('collects the messages of each field', () => {
    const found = fieldErrors(
      problem({
        errors: [
          { field: 'team', message: 'a' },
          { field: 'owner', message: 'b' },
          { field: 'team', message: 'c' },
        ],
      }),
    )
    expect(found.get('team')?.map(({ message }) => message)).toEqual(['a', 'c'])
    expect(found.get('owner')?.map(({ message }) => message)).toEqual(['b'])
  })

  it('is empty for other errors', () => {
    expect(fieldErrors(new NotConnected()).size).toBe(0)
    expect(fieldErrors(null).size).toBe(0)
  })
})

describe('parseRetryAfter', () => {
  it.each([
    [null, null],
    ['', null],
    ['7', 7],
    ['soon', null],
    ['Thu, 01 Jan 1970 00:00:10 GMT', 10],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ])('reads %j as %j', (header, seconds) => {
    expect(parseRetryAfter(header, 0)).toBe(seconds)
  })
})
