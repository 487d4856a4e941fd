import { isObject, setMember, type Value, type ValueObject } from '~/lib/values/value'

/** Keys whose values are secrets, as far as a name can tell. The gateway has the whole table. */
const SECRET_KEY = /pass(?:word|wd|phrase)?$|secret|token|credential|api_?key|private_?key|^psk$|^jwt$|^dsn$/i

/** Values for a command to copy: what looks like a secret becomes a placeholder. */
export function withPlaceholders(value: Value): Value {
  if (Array.isArray(value)) return value.map(withPlaceholders)
  if (!isObject(value)) return value
  const result: ValueObject = {}
  for (const [key, inner] of Object.entries(value)) {
    const isSecret = SECRET_KEY.test(key) && (typeof inner === 'string' || typeof inner === 'number') && inner !== ''
    setMember(result, key, isSecret ? `<${key}>` : withPlaceholders(inner))
  }
  return result
}
