import { queryOptions } from '@tanstack/react-query'

import { request, type Schemas } from '~/api/client'
import type { DryRun, Edited } from '~/api/queries/deployments'
import type { XApp } from '~/api/queries/xapps'
import { apiPath, queryText } from '~/lib/query'
import { parseJson } from '~/lib/values/parseJson'
import { statedText } from '~/lib/values/statedText'
import { ifMatch } from '~/lib/ifMatch'

/** One of the layers that helm merges, low to high; the text is null where it is not visible. */
export interface ValuesLayer {
  /** `chart`, `address`, `Secret/<name>`, `ConfigMap/<name>` or `yours`. */
  from: string
  text: string | null
}

export type XAppConfiguration = Schemas['XAppConfiguration'] & {
  layers: ValuesLayer[]
  /** Of the XApp whose values these are, as its generation; null for one that is known by its labels only. */
  uid: string | null
  generation: number | null
}

export function configQuery(namespace: string, name: string) {
  return queryOptions({
    queryKey: ['xapps', 'config', { namespace, name }],
    queryFn: async ({ signal }): Promise<XAppConfiguration> => {
      const response = await request(apiPath('api', 'xapps', namespace, name, 'config'), { signal })
      return (await response.json()) as XAppConfiguration
    },
  })
}

// As text, because JSON would round 64-bit integers and lose the comments.
async function put<T>(edited: Edited, text: string, dryRun: boolean): Promise<T> {
  const path = apiPath('api', 'xapps', edited.namespace, edited.name, 'config') + queryText(dryRun ? { dryRun } : {})
  const headers = { 'Content-Type': 'application/yaml', ...ifMatch(edited) }
  const response = await request(path, { method: 'PUT', headers, body: statedText(text) })
  return parseJson(await response.text()) as T
}

/** Replaces the values of the user, which is an upgrade. */
export function putValues(edited: Edited, text: string): Promise<XApp> {
  return put(edited, text, false)
}

export function previewValues(edited: Edited, text: string): Promise<DryRun> {
  return put(edited, text, true)
}
