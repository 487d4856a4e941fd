/**
 * Which keys of values hold secrets. The gateway has the same rules (`domain/masking/secret_keys.py`), with their reasons; the
 * tests of both read the same table. If in doubt, a value is a secret.
 */

const KEY_CHARACTERS_MAX = 256
const WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g

/** Anywhere in the joined words of a key. */
const SECRET =
  /password|passwd|passphrase|passcode|secret|token(?!iz)|credential|dockerconfigjson|connectionstring|(?:api|private|secret|access|auth|ssh|encryption|signing|master|preshared|integration|subscriber)key|(?:snmp|ro|rw|read|write|trap)community|communitystring|erlangcookie/
/** A whole word of a key. */
const SECRET_WORD =
  /^(?:pass|dbpass|rootpass|userpass|adminpass|pwd|pw|pin|creds?|jwt|bearer|authorization|dsn|salt|kubeconfig|psk)$/
/** A key whose last word is one of these only describes a secret. */
const DESCRIPTIVE_WORD =
  /^(?:names?|id|namespace|refs?|paths?|dir|files?|filename|enabled|created?|optional|types?|kind|size|length|bits|algorithm|policy|ttl|expiry|expiration|expires|lifetime|seconds|minutes|hours|days|interval|audiences?|issuer|urls?|uri|endpoint|host|port|header|prefix|suffix|format|version|mode|class|labels|annotations|provider|engine|backend|strategy|method|mounts?|volumes?)$/
/** A `…Key` after one of these words is public, or names a place. */
const PLAIN_KEY_KIND = /^(?:public|topology|label|annotation|map|sort|routing|partition|primary|foreign|host)$/
const KEY_WORD = /^keys?$/

/** Keys of a subscriber: the last word of a key, or its joined words. */
const SIM_WORD = /^(?:ki|opc|topc|kasme|kausf|kseaf|kamf|kgnb)$/
/** Short names of the same; they only count above a value of 128 bits. */
const SIM_LETTERS = /^(?:k|op|ck|ik)$/
const KEY_128_BIT = /^(?:0x)?[0-9A-Fa-f]{8}(?:[ :-]?[0-9A-Fa-f]{8}){3}$/
/** A smaller number under `ki` is the gain of a controller. */
const DIGITS_OF_SIM_KEY = 10

/** Whether every value under the key is a secret. */
export function isSecretKey(key: string): boolean {
  const words = wordsOf(key)
  const last = words.at(-1)
  if (last === undefined) return false
  const before = words.at(-2) ?? ''
  if (last === 'id' && (before === 'token' || before === 'secret')) return true
  if (DESCRIPTIVE_WORD.test(last) || namesASecret(key)) return false
  if (KEY_WORD.test(last)) return !PLAIN_KEY_KIND.test(before)
  return words.some((word) => SECRET_WORD.test(word)) || SECRET.test(words.join(''))
}

/** Whether a value that is no object and no list is a secret because of a key that often is none. */
export function isSecretScalar(key: string, value: string | number | bigint): boolean {
  const words = wordsOf(key)
  const last = words.at(-1)
  if (last === undefined) return false
  if (SIM_WORD.test(last) || SIM_WORD.test(words.join(''))) {
    return typeof value === 'string' || String(value).length >= DIGITS_OF_SIM_KEY
  }
  return SIM_LETTERS.test(last) && KEY_128_BIT.test(String(value).trim())
}

/** Whether the value names something, such as a Kubernetes Secret, and a key in it. */
export function isReferenceKey(key: string): boolean {
  const last = wordsOf(key).at(-1)
  return last !== undefined && (/^(?:refs?|reference)$/.test(last) || namesASecret(key))
}

/** Whether the key is no more than the word key, which in a text mostly names something. */
export function isOnlyKey(key: string): boolean {
  const words = wordsOf(key)
  return words.length === 1 && KEY_WORD.test(words[0] ?? '')
}

/** `existingSecret`, `imagePullSecrets`. */
function namesASecret(key: string): boolean {
  const words = wordsOf(key)
  return words.some((word) => /^secrets?$/.test(word)) && words.some((word) => /^(?:existing|pull)$/.test(word))
}

function wordsOf(key: string): string[] {
  return (key.slice(-KEY_CHARACTERS_MAX).match(WORD) ?? []).map((word) => word.toLowerCase())
}
