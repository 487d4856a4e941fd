import type { ChartDescription, ChartFiles, StoredChart } from '~/api/queries/charts'
import { fieldsOfForm, NO_FIELDS, type DeployFields } from '~/lib/deploy/form'
import type { DeploySearch } from '~/lib/routeSearch'

import { NEW_REPOSITORY } from './newRepository'

export interface Credentials {
  kind: 'none' | 'basic' | 'token'
  username: string
  password: string
  token: string
  /** Send them over http, which others can read. */
  allowPlainHTTP: boolean
}

export const NO_CREDENTIALS: Credentials = {
  kind: 'none',
  username: '',
  password: '',
  token: '',
  allowPlainHTTP: false,
}

/** What was dropped, also if the gateway refused it: nothing chosen is lost. */
export interface Upload {
  file: File
  /** Null while the gateway reads it, and if it refused it. */
  chart: ChartDescription | null
}

/** What a person has chosen and typed. What is not typed comes from the chart, the session and the last deployment. */
export interface DeployDraft {
  typed: Partial<DeployFields>
  upload: Upload | null
  /** What an uninstalled xApp was deployed from: its file is used unless another one is chosen. */
  storedChart: StoredChart | null
  provenance: File | null
  /** `namespace/name` of a saved repository; `new`: typed; empty: not chosen. */
  repository: string
  credentials: Credentials
  valuesText: string
  /** What the address of the page said when this was typed: the form is the same again with a bare address. */
  asked: Asked
}

type Asked = Partial<Omit<DeploySearch, 'draft'>>

export const NO_DRAFT: DeployDraft = {
  typed: {},
  upload: null,
  storedChart: null,
  provenance: null,
  repository: '',
  credentials: NO_CREDENTIALS,
  valuesText: '',
  asked: {},
}

const NOTHING_SAID: ReadonlySet<unknown> = new Set(['', false, 'upload'])

/** What a page is asked for: by its address where that says something, otherwise by what a draft was typed for. */
export function withAsked(search: DeploySearch, asked: Asked): DeploySearch {
  const said = Object.entries(search).filter(([, value]) => !NOTHING_SAID.has(value))
  return { ...search, ...asked, ...Object.fromEntries(said) }
}

/** The draft typed for what the page is asked for now; the same object if it was typed for that before. */
export function typedFor(draft: DeployDraft, search: Asked): DeployDraft {
  const { method, repository, chart, version, namespace, releaseName, adopt } = search
  const asked = { method, repository, chart, version, namespace, releaseName, adopt }
  return JSON.stringify(draft.asked) === JSON.stringify(asked) ? draft : { ...draft, asked }
}

/** Returns whether anything was chosen or typed: fields that were emptied again do not count. */
export function isFilledIn({ typed, upload, provenance, repository, credentials, valuesText }: DeployDraft): boolean {
  return (
    Object.values(typed).some((value) => value !== '' && value !== false) ||
    [upload, provenance].some((file) => file !== null) ||
    [repository, credentials.username, credentials.password, credentials.token, valuesText].some((text) => text !== '')
  )
}

/** What the page of an uninstalled xApp leaves for "Deploy again with these values". */
interface DeployAgain {
  form: Readonly<Record<string, unknown>>
  storedChart?: StoredChart | null
  valuesText: string
  /** What was typed on the page that upgrades it, if anything. */
  upgrade?: Partial<Pick<DeployDraft, 'typed' | 'upload' | 'provenance'>>
}

/** The draft that a deleted xApp left. */
export function draftOfDeleted(stored: unknown): DeployDraft | null {
  if (typeof stored !== 'object' || stored === null || !('form' in stored)) return null
  const { form, storedChart = null, valuesText, upgrade = {} } = stored as DeployAgain
  const typed: Partial<DeployFields> = {}
  for (const [name, value] of Object.entries(fieldsOfForm(form))) {
    if (value !== NO_FIELDS[name as keyof DeployFields]) Object.assign(typed, { [name]: value as unknown })
  }
  const { typed: changed = {}, upload = null, provenance = null } = upgrade
  // With another chart comes its version.
  const isOther = upload !== null || (changed.chartVersion !== undefined && changed.chartVersion !== typed.chartVersion)
  if (isOther) delete typed.version
  Object.assign(typed, changed)
  return { ...NO_DRAFT, typed, upload, storedChart, provenance, repository: NEW_REPOSITORY, valuesText }
}

/** The draft with the files of the stored chart, unless another file was chosen. */
export function withStoredChart(draft: DeployDraft, files: ChartFiles | null | undefined): DeployDraft {
  if (draft.upload !== null || !files) return draft
  const { file, chart, provenance } = files
  return { ...draft, upload: { file, chart }, provenance: draft.provenance ?? provenance }
}
