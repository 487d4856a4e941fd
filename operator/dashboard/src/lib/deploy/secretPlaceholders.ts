import { MASK } from '~/lib/values/mask'
import { isObject, member, setMember, type Value, type ValueObject } from '~/lib/values/value'

import { isReferenceKey, isSecretKey, isSecretScalar } from './secretKeys'
import { holdsSecret, isValueOfOption, withoutUserInfo } from './secretTexts'

/** An object with one of these names has plain members (`auth.username`); a text is `user:password`, or a cookie. */
const SECRET_IF_TEXT = /^(?:auth|basic_?auth|(?:set-)?cookie)$/i
const PLAIN_MEMBERS: readonly string[] = ['name', 'namespace', 'type', 'kind']

/** Members of volumes made of a Secret or a token, which only name it. */
const VOLUME_SOURCES = new Map([
  ['secret', ['secretName', 'name', 'items', 'defaultMode', 'optional']],
  ['serviceAccountToken', ['path', 'audience', 'expirationSeconds']],
])

interface Place {
  /** Stands in the placeholder. */
  key: string
  isSecret: boolean
  isReference: boolean
  keepsMasks: boolean
}

/**
 * Values for a command to copy: each secret becomes a placeholder, as the gateway masks it (`domain/masking/redaction.py`). A text
 * with a secret in it is replaced as a whole, but for passwords in URLs. `keepsMasks`: for the gateway, which puts the value
 * of the XApp in place of its own mask.
 */
export function withPlaceholders(value: Value, { keepsMasks = false } = {}): Value {
  return masked(value, { key: '', isSecret: false, isReference: false, keepsMasks })
}

/** The text with a reference in place of each mask: a mask is no secret. */
export function withoutMasks(text: string): string {
  return text.replaceAll(MASK, '<masked>')
}

function masked(value: Value, place: Place): Value {
  if (Array.isArray(value)) return value.map((item, index) => masked(item, placeOfItem(value, index, place)))
  if (isObject(value)) return maskedObject(value, place)
  if (value === null || typeof value === 'boolean' || value === '') return value
  if (place.isSecret) return place.keepsMasks && value === MASK ? value : placeholder(place.key)
  if (typeof value !== 'string') return value
  if (place.keepsMasks && value.includes(MASK)) {
    const rest = withoutMasks(value)
    return holdsSecret(rest) || withoutUserInfo(rest) !== rest ? placeholder(place.key) : value
  }
  const text = withoutUserInfo(value)
  return holdsSecret(text) || text.includes(MASK) ? placeholder(place.key) : text
}

function placeOfItem(list: readonly Value[], index: number, place: Place): Place {
  const option = list[index - 1]
  const item = list[index]
  if (typeof option !== 'string' || typeof item !== 'string' || !isValueOfOption(option, item)) return place
  return { ...place, key: option.replace(/^-+/, ''), isSecret: true }
}

function maskedObject(value: ValueObject, place: Place): ValueObject {
  const keys = Object.keys(value)
  const namesKey =
    place.isReference ||
    keys.some((key) => key === 'operator' || key === 'effect') ||
    (keys.length === 2 && keys.includes('key') && keys.includes('path'))
  const name = member(value, 'name')
  const secretName = typeof name === 'string' && isSecretKey(name) ? name : null
  const result: ValueObject = {}
  for (const [key, inner] of Object.entries(value)) {
    const isPlain = (place.isSecret && PLAIN_MEMBERS.includes(key)) || (namesKey && key === 'key')
    if (isReferenceKey(key) || isVolumeSource(key, inner)) {
      setMember(result, key, masked(inner, { ...place, key, isSecret: false, isReference: true }))
    } else if (isPlain && !isObject(inner) && !Array.isArray(inner)) {
      setMember(result, key, inner)
    } else {
      const isNamed = key === 'value' && secretName !== null
      const isSecret = place.isSecret || isNamed || isSecretKey(key) || isSecretInner(key, inner)
      setMember(
        result,
        key,
        masked(inner, {
          ...place,
          key: isNamed ? secretName : key,
          isSecret,
          isReference: false,
        }),
      )
    }
  }
  return result
}

function isSecretInner(key: string, value: Value): boolean {
  if (typeof value === 'string') return SECRET_IF_TEXT.test(key) || isSecretScalar(key, value)
  return (typeof value === 'number' || typeof value === 'bigint') && isSecretScalar(key, value)
}

function isVolumeSource(key: string, value: Value): boolean {
  const known = VOLUME_SOURCES.get(key)
  if (known === undefined || !isObject(value)) return false
  return Object.entries(value).every(([name, inner]) => known.includes(name) && !isObject(inner))
}

function placeholder(key: string): string {
  return `<${key}>`
}
