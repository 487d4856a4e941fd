import { queryOptions } from '@tanstack/react-query'

import { request, type Schemas } from '~/api/client'
import type { RepositorySettings } from '~/api/queries/repositories'
import type { XApp } from '~/api/queries/xapps'
import { upload } from '~/api/uploads'
import { Problem } from '~/lib/problem'
import { apiPath, queryText } from '~/lib/query'
import { parseJson } from '~/lib/values/parseJson'
import { statedText } from '~/lib/values/statedText'
import { ifMatch, type ObjectVersion } from '~/lib/ifMatch'

export type XAppSpecification = Schemas['XAppSpecification']

/** What would happen to an object of the release; null where the release in force is not visible. */
export type ObjectChange = 'create' | 'change' | 'remove' | 'unchanged' | null

/** The answer of a dry run, of a deployment, an upgrade or a change of values. */
export interface DryRun {
  manifest: string
  notes: string
  values: unknown
  warnings: string[]
  /** Unified diff against what runs; null for a new xApp, and where the release in force is not visible. */
  diff: string | null
  objects: { apiVersion: string; kind: string; namespace: string | null; name: string; change: ObjectChange }[]
  rendered: 'server' | 'offline'
}

/** The parts of a deployment. `undefined`: left out, so that an upgrade keeps what is there. */
export interface DeploymentParts {
  form: Readonly<Record<string, unknown>>
  file?: File | undefined
  provenance?: File | undefined
  values?: string | undefined
  /** What a new repository needs besides its name and URL, which are in the form: saved with the xApp. */
  repository?: Readonly<Omit<RepositorySettings, 'url'>> | undefined
}

function multipart({ form, file, provenance, values, repository }: DeploymentParts): FormData {
  const body = new FormData()
  body.append('xAppForm', JSON.stringify(form))
  if (repository !== undefined) body.append('repository', JSON.stringify(repository))
  if (values !== undefined) body.append('values', statedText(values))
  if (provenance !== undefined) body.append('provenance', provenance)
  if (file !== undefined) body.append('file', file)
  return body
}

async function send<T>(
  path: string,
  method: 'POST' | 'PUT',
  parts: DeploymentParts,
  expected?: ObjectVersion,
): Promise<T> {
  const headers = new Headers(expected === undefined ? {} : ifMatch(expected))
  const response = await upload(path, { method, headers, body: multipart(parts) })
  return parseJson(await response.text()) as T
}

export function deploy(parts: DeploymentParts): Promise<XApp> {
  return send('/api/deployment/xapp', 'POST', parts)
}

export function previewDeployment(parts: DeploymentParts): Promise<DryRun> {
  return send('/api/deployment/xapp?dryRun=true', 'POST', parts)
}

/** The xApp that was edited: refused with 412 if its spec is newer, or another xApp has its name. */
export interface Edited extends ObjectVersion {
  namespace: string
  name: string
}

export function upgrade(edited: Edited, parts: DeploymentParts): Promise<XApp> {
  return send(apiPath('api', 'deployment', 'xapp', edited.namespace, edited.name), 'PUT', parts, edited)
}

export function previewUpgrade(edited: Edited, parts: DeploymentParts): Promise<DryRun> {
  const path = apiPath('api', 'deployment', 'xapp', edited.namespace, edited.name) + queryText({ dryRun: true })
  return send(path, 'PUT', parts, edited)
}

/** The deployment form of an xApp as it is stored. */
export function specQuery(namespace: string, name: string) {
  return queryOptions({
    queryKey: ['xapps', 'spec', { namespace, name }],
    queryFn: async ({ signal }): Promise<XAppSpecification> => {
      const response = await request(apiPath('api', 'xapps', namespace, name, 'spec'), { signal })
      return (await response.json()) as XAppSpecification
    },
  })
}

const NOT_FOUND = 404
const FORBIDDEN = 403

/** Whether an xApp of this name is there: `null` where the caller may not know. */
export function nameTakenQuery(namespace: string, name: string) {
  return queryOptions({
    queryKey: ['xapps', 'taken', { namespace, name }],
    staleTime: 5_000,
    queryFn: async ({ signal }): Promise<boolean | null> => {
      try {
        await request(apiPath('api', 'xapps', namespace, name), { signal })
        return true
      } catch (error) {
        if (error instanceof Problem && error.status === NOT_FOUND) return false
        if (error instanceof Problem && error.status === FORBIDDEN) return null
        throw error
      }
    },
  })
}
