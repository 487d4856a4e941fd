// @vitest-environment node
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

import type { Value, ValueObject } from '~/lib/values/value'

import { isSecretKey } from './secretKeys'
import { withPlaceholders } from './secretPlaceholders'
import { holdsSecret, withoutUserInfo } from './secretTexts'

interface Cases {
  secretKeys: string[]
  plainKeys: string[]
  values: [ValueObject, ValueObject][]
  /** Secrets stand in «». */
  secretTexts: [string, string][]
  plainTexts: string[]
}

const MASK = '••••••'
/** The gateway's tests read it too. */
const CASES = JSON.parse(readFileSync('../../tests/unit/domain/masking/redaction_cases.json', 'utf8')) as Cases

/** A text with a secret may be a placeholder as a whole, where the gateway masks a part of it. */
function asMasks(value: Value): Value {
  if (typeof value === 'string') return value.includes(MASK) || /<[^<>]*>/.test(value) ? MASK : value
  if (Array.isArray(value)) return value.map(asMasks)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, asMasks(inner)]))
}

describe('the placeholders of secrets', () => {
  it('stand at the keys at which the gateway masks', () => {
    expect(CASES.secretKeys.filter((key) => !isSecretKey(key))).toEqual([])
    expect(CASES.plainKeys.filter((key) => isSecretKey(key))).toEqual([])
  })

  it.each(CASES.values)('stand where the gateway masks in %j', (values, expected) => {
    expect(asMasks(withPlaceholders(values))).toEqual(asMasks(expected))
  })

  it.each(CASES.secretTexts)('stand for the text %j: %s', (marked) => {
    const secrets = [...marked.matchAll(/«([^»]*)/g)].map(([, secret = '']) => secret)
    const shown = JSON.stringify(withPlaceholders({ config: marked.replace(/[«»]/g, '') }))
    expect(secrets.filter((secret) => shown.includes(JSON.stringify(secret).slice(1, -1)))).toEqual([])
  })

  it.each(CASES.plainTexts)('leave the text %j', (text) => {
    expect(withPlaceholders({ config: text })).toEqual({ config: text })
  })

  it('say what to put there', () => {
    expect(
      withPlaceholders({
        tokens: ['a'],
        env: [{ name: 'DB_PASSWORD', value: 'x' }],
        url: 'postgres://u:hunter2@db/x',
        args: ['--password', 'x'],
        pin: 9007199254740993n,
        id: 9007199254740993n,
      }),
    ).toEqual({
      tokens: ['<tokens>'],
      env: [{ name: 'DB_PASSWORD', value: '<DB_PASSWORD>' }],
      url: 'postgres://u:<password>@db/x',
      args: ['--password', '<password>'],
      pin: '<pin>',
      id: 9007199254740993n,
    })
  })

  // Work that grows with the square of the length would take hours.
  it('are found with work that grows with the length only', () => {
    const units = [
      'a',
      ' ',
      ':',
      '"',
      '\n',
      '-',
      '<a ',
      '://a:',
      '-----BEGIN ',
      'password',
      'auth:',
      'machine a ',
      'a:b@c',
      '\\',
    ]
    for (const unit of units) {
      const text = unit.repeat(1_000_000 / unit.length)
      holdsSecret(text)
      withoutUserInfo(text)
    }
  })
})
