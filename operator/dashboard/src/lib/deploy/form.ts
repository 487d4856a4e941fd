/** The form of a deployment: what a page holds of it, what is wrong with it, and what is sent. */

import { userInfoProblem } from '~/lib/repositories/form'
import { parseDuration } from '~/lib/time'

export type Method = 'upload' | 'repository'

export const METHOD_NAMES: Readonly<Record<Method, string>> = {
  upload: 'Upload Chart',
  repository: 'Remote Chart Repository',
}

/** Every field that a person can fill in, as text; empty: not given. */
export interface DeployFields {
  xAppName: string
  version: string
  organization: string
  team: string
  owner: string
  namespace: string
  chartName: string
  chartVersion: string
  repoName: string
  url: string
  releaseName: string
  serviceAccountName: string
  timeout: string
  onFailure: '' | 'rollback' | 'none'
  deletionPolicy: '' | 'Uninstall' | 'Orphan'
  adopt: boolean
  suspend: boolean
}

export const NO_FIELDS: DeployFields = {
  xAppName: '',
  version: '',
  organization: '',
  team: '',
  owner: '',
  namespace: '',
  chartName: '',
  chartVersion: '',
  repoName: '',
  url: '',
  releaseName: '',
  serviceAccountName: '',
  timeout: '',
  onFailure: '',
  deletionPolicy: '',
  adopt: false,
  suspend: false,
}

export type FieldName = keyof DeployFields

interface AskedFor {
  chart: string
  version: string
  namespace: string
  releaseName: string
  adopt: boolean
}

/** What was typed, without what contradicts the parameters of a link; the same object if nothing does. */
export function withoutContradictions(typed: Partial<DeployFields>, asked: AskedFor): Partial<DeployFields> {
  const wanted: Partial<DeployFields> = {
    chartName: asked.chart,
    chartVersion: asked.version,
    namespace: asked.namespace,
    releaseName: asked.releaseName,
    adopt: asked.adopt,
  }
  const contradicts = (name: FieldName): boolean =>
    Boolean(wanted[name]) && typed[name] !== undefined && typed[name] !== wanted[name]
  const names = Object.keys(typed) as FieldName[]
  if (!names.some(contradicts)) return typed
  // Another chart or release is another xApp: its name and version come from it.
  const dependent: readonly FieldName[] =
    contradicts('chartName') || contradicts('chartVersion') ? ['xAppName', 'version'] : []
  return Object.fromEntries(
    Object.entries(typed).filter(([name]) => !contradicts(name as FieldName) && !dependent.includes(name as FieldName)),
  )
}

/** What each field is called on the page. */
export const LABELS: Readonly<Record<FieldName, string>> = {
  xAppName: 'xApp name',
  version: 'Version',
  organization: 'Organization',
  team: 'Team',
  owner: 'Owner',
  namespace: 'Namespace',
  chartName: 'Chart',
  chartVersion: 'Chart version',
  repoName: 'Repository name',
  url: 'URL',
  releaseName: 'Release name',
  serviceAccountName: 'Service account',
  timeout: 'Timeout',
  onFailure: 'If an upgrade fails',
  deletionPolicy: 'When it is uninstalled',
  adopt: 'Adopt',
  suspend: 'Suspend',
}

/** The field as `errors[]` of the API names it. */
export function apiField(name: FieldName): string {
  if (name === 'onFailure') return 'xAppForm.upgrade.onFailure'
  return `xAppForm.${name}`
}

const DNS_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const DOTTED_NUMERIC = /^[0-9]+(?:\.[0-9]+)*$/
const TIMEOUT_SECONDS = { min: 1, max: 24 * 60 * 60 }
const CHART_URL = /^(?:https?|oci):\/\/[^\s/]+/
const RELEASE_NAME_MAX = 53

const REQUIRED: readonly FieldName[] = ['xAppName', 'version', 'organization', 'team', 'owner', 'namespace']
const REQUIRED_OF_REPOSITORY: readonly FieldName[] = ['chartName', 'repoName', 'url']
const IDENTITY = new Set<FieldName>(['xAppName', 'organization', 'team'])

type Rule = (value: string) => string | null

const RULES: Partial<Record<FieldName, Rule>> = {
  version: (value) => (DOTTED_NUMERIC.test(value) ? null : 'Must be dotted numeric, such as 0.2.1 (no letters, no v).'),
  namespace: (value) =>
    DNS_LABEL.test(value)
      ? null
      : 'May have lower-case letters, digits and -, at most 63, a letter or digit at both ends.',
  url: (value) => (CHART_URL.test(value) ? userInfoProblem(value) : 'Must begin with https://, http:// or oci://.'),
  timeout: (value) => {
    const seconds = parseDuration(value)
    const isInBounds = seconds !== null && seconds >= TIMEOUT_SECONDS.min && seconds <= TIMEOUT_SECONDS.max
    return isInBounds ? null : 'Must be a duration between 1s and 24h, such as 90s, 5m or 1h30m.'
  },
  releaseName: (value) =>
    DNS_LABEL.test(value) && value.length <= RELEASE_NAME_MAX
      ? null
      : 'May have lower-case letters, digits and -, at most 53, a letter or digit at both ends.',
}

export type FieldProblems = ReadonlyMap<string, string>

/** What is wrong with one field; null if nothing is. The gateway checks again, and more. */
export function fieldProblem(fields: DeployFields, name: FieldName, method: Method): string | null {
  const value = fields[name]
  if (typeof value === 'boolean') return null
  const text = value.trim()
  const required = REQUIRED.includes(name) || (method === 'repository' && REQUIRED_OF_REPOSITORY.includes(name))
  if (text === '') return required ? `${LABELS[name]} is missing.` : null
  if (IDENTITY.has(name) && !/[A-Za-z0-9]/.test(text)) return 'Must have at least one letter or digit (a-z, 0-9).'
  return RULES[name]?.(text) ?? null
}

/** The problems of all fields, by their name in `errors[]`. */
export function formProblems(fields: DeployFields, method: Method): FieldProblems {
  const problems = new Map<string, string>()
  const skipped =
    method === 'upload' ? new Set<FieldName>(['chartName', 'chartVersion', 'repoName', 'url']) : new Set<FieldName>()
  for (const name of Object.keys(LABELS) as FieldName[]) {
    const problem = skipped.has(name) ? null : fieldProblem(fields, name, method)
    if (problem !== null) problems.set(apiField(name), problem)
  }
  return problems
}

/** The part `xAppForm` of a deployment. Fields without an entry are left out. */
export function deploymentForm(fields: DeployFields, method: Method): Record<string, unknown> {
  const text = (name: FieldName): string => String(fields[name]).trim()
  const form: Record<string, unknown> = { method: METHOD_NAMES[method] }
  for (const name of REQUIRED) form[name] = text(name)
  if (method === 'repository') {
    for (const name of REQUIRED_OF_REPOSITORY) form[name] = text(name)
    if (text('chartVersion') !== '') form.chartVersion = text('chartVersion')
  }
  for (const name of ['releaseName', 'serviceAccountName', 'timeout', 'deletionPolicy'] as const) {
    if (text(name) !== '') form[name] = text(name)
  }
  if (fields.onFailure !== '') form.upgrade = { onFailure: fields.onFailure }
  if (fields.adopt) form.adopt = true
  if (fields.suspend) form.suspend = true
  return form
}

/** The fields of a stored form, as GET ../spec answers it. */
export function fieldsOfForm(form: Readonly<Record<string, unknown>>): DeployFields {
  const text = (name: string): string => (typeof form[name] === 'string' ? form[name] : '')
  const { upgrade } = form
  const onFailure =
    typeof upgrade === 'object' && upgrade !== null ? (upgrade as { onFailure?: unknown }).onFailure : ''
  const deletionPolicy = text('deletionPolicy')
  return {
    ...NO_FIELDS,
    xAppName: text('xAppName'),
    version: text('version'),
    organization: text('organization'),
    team: text('team'),
    owner: text('owner'),
    namespace: text('namespace'),
    chartName: text('chartName'),
    chartVersion: text('chartVersion'),
    repoName: text('repoName'),
    url: text('url'),
    releaseName: text('releaseName'),
    serviceAccountName: text('serviceAccountName'),
    timeout: text('timeout'),
    onFailure: onFailure === 'rollback' || onFailure === 'none' ? onFailure : '',
    deletionPolicy: deletionPolicy === 'Uninstall' || deletionPolicy === 'Orphan' ? deletionPolicy : '',
    adopt: form.adopt === true,
    suspend: form.suspend === true,
  }
}

export function methodOfForm(form: Readonly<Record<string, unknown>>): Method {
  return form.method === METHOD_NAMES.repository ? 'repository' : 'upload'
}

/** The dotted numeric part of a chart's version, which is what the version of an xApp may be: `1.2.3-rc.1` is `1.2.3`. */
export function numericVersion(version: string): string {
  return /^v?([0-9]+(?:\.[0-9]+)*)/.exec(version)?.[1] ?? ''
}

/** The fields of an xApp that its record tells. */
export function identityOf({
  organization,
  team,
  version,
}: Readonly<Record<'organization' | 'team' | 'version', string | null>>): Partial<DeployFields> {
  const known = { organization, team, version: version === null ? null : numericVersion(version) }
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value !== null && value !== ''))
}

/** What the page says below a version that is not written as that of the chart it comes from. */
export function versionNote(version: string, chartVersion: string): string | undefined {
  if (version === '' || version === chartVersion || version !== numericVersion(chartVersion)) return undefined
  return `From ${chartVersion}: the version of an xApp has only numbers and dots.`
}

/** The name of a signed-in user as an owner: of a service account only its name. */
export function ownerOf(user: string): string {
  return user.startsWith('system:serviceaccount:') ? (user.split(':').at(-1) ?? user) : user
}
