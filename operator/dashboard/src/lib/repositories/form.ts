/** The form of a chart repository: what a page holds of it, what is wrong with it, and what is sent. */

export interface RepositoryFields {
  name: string
  namespace: string
  url: string
  /** `keep`: what is saved already. */
  credentials: 'keep' | 'none' | 'basic' | 'token'
  username: string
  password: string
  token: string
  certificates: 'keep' | 'usual' | 'given' | 'any'
  caBundle: string
  allowPlainHTTP: boolean
  interval: string
  verify: 'none' | 'provenance' | 'cosign'
  verifySecret: string
}

export const NO_REPOSITORY: RepositoryFields = {
  name: '',
  namespace: '',
  url: '',
  credentials: 'none',
  username: '',
  password: '',
  token: '',
  certificates: 'usual',
  caBundle: '',
  allowPlainHTTP: false,
  interval: '',
  verify: 'none',
  verifySecret: '',
}

/** The checkbox that is shown with an http URL. */
export const PLAIN_HTTP_LABEL = 'Send them over http, where others can read them'

/** Labels by the name of the field in `errors[]`. */
export const REPOSITORY_LABELS: Readonly<Record<string, string>> = {
  name: 'Name',
  namespace: 'Namespace',
  url: 'URL',
  username: 'User',
  password: 'Password',
  token: 'Token',
  caBundle: 'Certificates (PEM)',
  allowPlainHTTP: PLAIN_HTTP_LABEL,
  insecureSkipTLSVerify: 'Certificates',
  interval: 'Read every',
  verify: 'Signatures',
}

const DNS_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const URL_PATTERN = /^(?:https?|oci):\/\/[!-~]+$/
const NAME_RULE = 'May have lower-case letters, digits and -, at most 63, a letter or digit at both ends.'

export function isPlainHttp(url: string): boolean {
  return url.trim().toLowerCase().startsWith('http://')
}

/** What is wrong with a URL that has credentials in it; null if it has none. They would be shown to everybody. */
export function userInfoProblem(url: string): string | null {
  if (!/^[a-z]+:\/\/[^/?#]*@/i.test(url.trim())) return null
  return 'A user name or a password may not stand in a URL. Enter them under Credentials.'
}

/** What is wrong with the URL of a repository with credentials; null if they may be sent to it. */
export function plainHttpProblem({
  url,
  allowPlainHTTP,
}: Pick<RepositoryFields, 'url' | 'allowPlainHTTP'>): string | null {
  if (allowPlainHTTP || !isPlainHttp(url)) return null
  return `Others can read credentials that go over http. Use https, or select "${PLAIN_HTTP_LABEL}" below them.`
}

/** What is wrong with each field, by its name in `errors[]`. The gateway checks again, and more. */
export function repositoryProblems(fields: RepositoryFields): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const need = (field: string, value: string, rule?: (value: string) => string | null): void => {
    const label = REPOSITORY_LABELS[field] ?? field
    const problem = value === '' ? `${label} is missing.` : (rule?.(value) ?? null)
    if (problem !== null) found.set(field, problem)
  }
  const name = (value: string): string | null => (DNS_LABEL.test(value) ? null : NAME_RULE)
  need('name', fields.name.trim(), name)
  need('namespace', fields.namespace.trim(), name)
  need('url', fields.url.trim(), (value) => {
    if (!URL_PATTERN.test(value)) return 'Must begin with https://, http:// or oci://, without blanks.'
    return userInfoProblem(value) ?? (fields.credentials === 'none' ? null : plainHttpProblem(fields))
  })
  if (fields.credentials === 'basic') {
    need('username', fields.username)
    need('password', fields.password)
  }
  if (fields.credentials === 'token') need('token', fields.token)
  if (fields.certificates === 'given') need('caBundle', fields.caBundle.trim())
  if (fields.verify !== 'none' && fields.verifySecret.trim() === '')
    found.set('verify', 'Name the Secret with the keys.')
  return found
}

interface Settings {
  url: string
  username?: string | null
  password?: string | null
  token?: string | null
  caBundle?: string | null
  insecureSkipTLSVerify?: boolean
  allowPlainHTTP?: boolean
  interval?: string
  verify?: { provider: 'provenance' | 'cosign'; secretRef: { name: string } }
}

/** The settings to send. `isChange`: of a saved repository, where null removes what is saved. */
export function repositorySettings(fields: RepositoryFields, { isChange }: { isChange: boolean }): Settings {
  const settings: Settings = { url: fields.url.trim() }
  if (fields.credentials === 'basic') Object.assign(settings, { username: fields.username, password: fields.password })
  if (fields.credentials === 'token') settings.token = fields.token
  if (fields.credentials === 'none' && isChange)
    Object.assign(settings, { username: null, password: null, token: null })
  if (fields.certificates === 'given') settings.caBundle = fields.caBundle
  if (fields.certificates === 'any') settings.insecureSkipTLSVerify = true
  if ((fields.certificates === 'usual' || fields.certificates === 'any') && isChange) settings.caBundle = null
  if (fields.allowPlainHTTP) settings.allowPlainHTTP = true
  if (fields.interval.trim() !== '') settings.interval = fields.interval.trim()
  if (fields.verify !== 'none')
    settings.verify = { provider: fields.verify, secretRef: { name: fields.verifySecret.trim() } }
  return settings
}

const SECRETS = ['username', 'password', 'token', 'caBundle'] as const

/** The same for a command to copy: what is secret is a placeholder. */
export function settingsToCopy<T extends Partial<Settings>>(settings: T): T {
  const shown = { ...settings }
  for (const name of SECRETS) if (typeof shown[name] === 'string') shown[name] = `<${name}>`
  return shown
}

/** The fields as a text, to compare what others saved meanwhile with what is typed. What is secret is a placeholder. */
export function comparedFields(fields: RepositoryFields): string {
  const secret: readonly string[] = SECRETS
  return Object.entries(fields)
    .filter(([, value]) => value !== '' && value !== false)
    .map(([name, value]) => `${name}: ${secret.includes(name) ? `<${name}>` : String(value)}\n`)
    .join('')
}

interface SavedRepository {
  name: string
  namespace: string
  url: string
  interval: string
  hasCredentials: boolean
  hasCaBundle: boolean
  insecureSkipTLSVerify: boolean
  allowPlainHTTP: boolean
  verify: { provider: 'provenance' | 'cosign'; secretRef: { name: string } } | null
}

/** The form of a saved repository. Credentials and certificates never come back: they are kept. */
export function fieldsOfRepository(saved: SavedRepository): RepositoryFields {
  return {
    ...NO_REPOSITORY,
    name: saved.name,
    namespace: saved.namespace,
    url: saved.url,
    credentials: saved.hasCredentials ? 'keep' : 'none',
    certificates: saved.hasCaBundle ? 'keep' : saved.insecureSkipTLSVerify ? 'any' : 'usual',
    allowPlainHTTP: saved.allowPlainHTTP,
    interval: saved.interval,
    verify: saved.verify?.provider ?? 'none',
    verifySecret: saved.verify?.secretRef.name ?? '',
  }
}

/** The manifest of a repository without credentials, or null: with them the gateway creates a Secret too. */
export function repositoryManifest(fields: RepositoryFields): string | null {
  if (fields.credentials !== 'none' || fields.certificates === 'given' || fields.certificates === 'keep') return null
  const { url, ...rest } = repositorySettings(fields, { isChange: false })
  const manifest = {
    apiVersion: 'xapp-operator.io/v1alpha1',
    kind: 'ChartRepository',
    metadata: { name: fields.name.trim(), namespace: fields.namespace.trim() },
    spec: { url, ...rest },
  }
  return JSON.stringify(manifest, null, 2)
}
