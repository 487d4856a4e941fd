/**
 * Secrets inside texts, such as a configuration file or a command line in one value. The gateway finds where they are
 * (`domain/masking/text_secrets.py`); here it is enough to know that there is one. The tests of both read the same table.
 *
 * Every expression is linear in the length of the text: what it repeats is bounded, or cannot begin at each character.
 */

import { isOnlyKey, isSecretKey, isSecretScalar } from './secretKeys'

const KEY = '[A-Za-z_][A-Za-z0-9_.-]{0,127}'
const ASSIGNMENT = new RegExp(
  `(?<![A-Za-z0-9_.-])-{0,2}(${KEY})(\\\\{0,7}["'])?[ \\t]{0,16}(?:=>|[:?+]?=(?!=)|(:)(?!:|//|=))([ \\t]*)`,
  'g',
)
const OPTION = new RegExp(`(?<![A-Za-z0-9_.-])--?(${KEY})[ \\t]{1,16}(?=[^\\s-])`, 'g')
const ONLY_OPTION = new RegExp(`^--?(${KEY})$`)
const XML_TAG = /<([A-Za-z_][A-Za-z0-9_.:-]{0,127})(?:\s[^<>]{0,512})?>/g
const XML_END = /<\/([A-Za-z_][A-Za-z0-9_.:-]{0,127})/g
const XML_NAME = /<(?:name|key)>\s{0,64}([A-Za-z_][A-Za-z0-9_.-]{0,127})\s{0,64}<\/(?:name|key)>\s{0,64}<value>[^<]/g
const NAMED = new RegExp(
  `(?<![A-Za-z0-9_.-])(?:name|key)["'\\\\]{0,8}[ \\t]{0,16}[:=][ \\t]{0,16}["'\\\\]{0,8}(${KEY})`,
  'g',
)
const VALUE = /(?<![A-Za-z0-9_.-])value["'\\]{0,8}[ \t]{0,16}[:=]/
const QUERY_KEY = /^(?:sig|signature|code|auth)$/i
const SIM_VALUE = /^[\\"']{0,8}(?![0-9.]{1,9}(?![0-9A-Za-z.]))([0-9A-Za-z][0-9A-Za-z :-]{0,80})/
const PORT = /^[0-9]{1,5}(?![^\s/,"'])/
const VALUE_MAX = 512

const REFERENCE =
  /^(?:\$\([^)]{0,200}\)|\$\{[A-Za-z_]\w{0,200}\}|\$[A-Z_][A-Z0-9_]{0,200}|\{\{.{0,200}?\}\}|<[A-Za-z][\w -]{0,200}>|%\([a-z_]{1,200}\)s)(?=[\s"'&,;)}\]\\]|$)/
const NO_SECRET = /^(?:true|false|null|none|nil|~|yes|no|on|off|\{\}|\[\]|[{<])?[\\"']{0,8}(?:[\s,;)}\]&]|$)/i

/** What is a secret wherever it stands. */
const RECOGNISABLE = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/,
  /(?<![\w-])(?:gh[opsur]_[A-Za-z0-9]{20}|github_pat_\w{20}|glpat-[\w-]{16}|xox[a-z]-[\w-]{10}|npm_[A-Za-z0-9]{20}|sk-(?:[a-z0-9]{1,16}-){0,2}\w{20}|A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])|AIza[\w-]{30}|hvs\.[\w-]{20}|eyJ[\w-]{8,4096}\.eyJ[\w-]{8})/,
  /(?<![A-Za-z0-9])bearer[ \t]{1,16}[A-Za-z0-9._~+/=-]{12}/i,
  /(?:hooks\.slack\.com\/(?:services|workflows|triggers)\/|discord(?:app)?\.com\/api\/(?:v[0-9]{1,3}\/)?webhooks\/[0-9]{1,32}\/|api\.telegram\.org\/bot|webhook\.office\.com\/webhookb2\/|outlook\.office(?:365)?\.com\/webhook\/|events\.pagerduty\.com\/integration\/|\/hooks\/(?=[A-Za-z0-9/_-]{16}))[^\s?#"'<>]/i,
  /(?<![A-Za-z0-9_.-])(?:-u|--user)(?:[ \t]{1,16}|=)["']?[^\s:"']{1,128}:[^\s"']/,
  /(?<![\w.-])(?:r[ow]community6?|trapcommunity|snmp-server[ \t]{1,16}community|requirepass|masterauth|primaryauth|rootpw|bindpw|identified[ \t]{1,16}by|com2sec6?[ \t]{1,16}\S{1,64}[ \t]{1,16}\S{1,256}|(?:trap2?|inform)sink[ \t]{1,16}\S{1,256}|wpa-psk|wpa-passphrase|createuser[ \t]{1,16}\S{1,128})[ \t]{1,16}\S/i,
  /(?<![\w.-])sshpass[ \t]{1,16}-p[ \t]{0,16}\S/i,
  /(?<![\w.-])(?:(?:machine|login|account)\s{1,16}\S{1,256}|default)\s{1,64}password\s{1,16}\S/,
  /(?<![^\s"'`<>])[^\s"'`<>:]{1,256}:[^\s"'`<>]{1,256}@[a-z][a-z0-9]{0,15}\(/,
  /(?<![\w.])(?:(?:set-)?cookie(?:\\{0,7}["'])?[ \t]{0,16}[:=]|--cookie)[ \t]{0,16}(?:\\{0,7}["'])?[^\s=;"'\\]{1,256}=[^"'\r\n]/i,
]
const LOGIN =
  /(?<![A-Za-z0-9])(?:basic_?)?auth(?:\\{0,7}["'])?[ \t]{0,16}[:=][ \t]{0,16}(?:\\{0,7}["'])?([^\s"'\\,{}[\]]{3,4096})/gi
const BASIC = /(?<![A-Za-z0-9])basic[ \t]{1,16}([A-Za-z0-9+/]{4,4096}={0,2})/gi

/** Most values of a chart are such a word: it is too short for a secret that its form tells. */
const SHORT_WORD = /^[\w.-]{0,15}$/

/** Whether a secret is in the text. */
export function holdsSecret(text: string): boolean {
  if (SHORT_WORD.test(text)) return false
  return (
    RECOGNISABLE.some((pattern) => pattern.test(text)) ||
    hasAssignment(text) ||
    hasNamedValue(text) ||
    hasElement(text) ||
    some(text, OPTION, (match) => isSecretKey(match[1] ?? '') && isSecretValue(text, match)) ||
    some(text, LOGIN, ([, value = '']) => (value.includes(':') && !value.includes('://')) || isBasic(value)) ||
    some(text, BASIC, ([, value = '']) => isBasic(value))
  )
}

/** Whether the value is the secret of the argument before it, as in `["--password", "x"]`. */
export function isValueOfOption(option: unknown, value: string): boolean {
  const key = typeof option === 'string' ? ONLY_OPTION.exec(option)?.[1] : undefined
  if (key === undefined || value.startsWith('--') || isNoSecret(value)) return false
  return isSecretKey(key) || ((option === '-u' || option === '--user') && value.includes(':'))
}

/** A longer user name without a password is a token. */
const USER_NAME_MAX = 15

/** The text with the user info of each URL masked. */
export function withoutUserInfo(text: string): string {
  return text.replace(/:\/\/([^\s/"<>]+)/g, (whole, authority: string) => {
    const end = authority.lastIndexOf('@')
    if (end < 0) return whole
    const user = authority.slice(0, end)
    const colon = user.indexOf(':')
    const host = authority.slice(end)
    if (colon < 0) return user.length > USER_NAME_MAX ? `://<token>${host}` : whole
    const password = user.slice(colon + 1)
    return password === '' || isNoSecret(password) ? whole : `://${user.slice(0, colon)}:<password>${host}`
  })
}

function hasAssignment(text: string): boolean {
  return some(text, ASSIGNMENT, (match) => {
    const [, key = '', quote, colon, blank] = match
    const before = text.charAt(match.index - 1)
    const inQuery = before === '?' || before === '&'
    const at = match.index + match[0].length
    const isPort = colon !== undefined && blank === '' && quote === undefined
    if (isPort && (before === '/' || PORT.test(text.slice(at, at + 8)))) return false
    if (inQuery && QUERY_KEY.test(key)) return true
    if (isSecretKey(key) && (inQuery || !isOnlyKey(key))) return isSecretValue(text, match)
    const sim = SIM_VALUE.exec(text.slice(at, at + 100))
    return sim !== null && isSecretScalar(key, (sim[1] ?? '').trimEnd())
  })
}

/** Whether what follows is neither empty nor a reference. A list or a text may follow in the next lines. */
function isSecretValue(text: string, match: RegExpExecArray): boolean {
  const at = match.index + match[0].length
  const rest = text.slice(at, at + VALUE_MAX)
  if (/^(?:"""|''')/.test(rest)) return true
  if (/^[ \t]*\r?\n/.test(rest)) return /^[ \t]*\r?\n[ \t]*(?:-[ \t]|[^\s:#-][^:\r\n]*(?:[\r\n]|$))/.test(rest)
  return !isNoSecret(rest)
}

function isNoSecret(value: string): boolean {
  const bare = value.replace(/^[\\"']{0,8}/, '')
  return NO_SECRET.test(bare) || REFERENCE.test(bare)
}

/** `name: DB_PASSWORD` and `value: x` beside it; in doubt, anywhere in the text. */
function hasNamedValue(text: string): boolean {
  return (
    (VALUE.test(text) && some(text, NAMED, ([, name = '']) => isSecretKey(name))) ||
    some(text, XML_NAME, ([, name = '']) => isSecretKey(name))
  )
}

function hasElement(text: string): boolean {
  const closed = new Set(Array.from(text.matchAll(XML_END), ([, key]) => key))
  return some(text, XML_TAG, ({ 0: tag, 1: key = '', index }) => {
    return closed.has(key) && isSecretKey(key) && !text.startsWith(`</${key}`, index + tag.length)
  })
}

function isBasic(value: string): boolean {
  try {
    return atob(value).includes(':')
  } catch {
    return false
  }
}

function some(text: string, pattern: RegExp, test: (match: RegExpExecArray) => boolean): boolean {
  for (const match of text.matchAll(pattern)) if (test(match)) return true
  return false
}
