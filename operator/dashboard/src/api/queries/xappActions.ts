/** Changes of one xApp. Each returns its record, as the gateway answers it with 202. */

import type { QueryClient } from '@tanstack/react-query'

import { request, type Schemas } from '~/api/client'
import { xappQuery } from '~/api/queries/xapps'
import { xappPath, type XAppId } from '~/api/queries/xappDetails'

export type XAppRecord = Schemas['XAppRecord']
export type XAppActionName = 'retry' | 'reconcile' | 'force' | 'suspend' | 'resume' | 'test'

export async function actOnXApp(id: XAppId, action: XAppActionName): Promise<XAppRecord> {
  return post(xappPath(id, 'actions'), { action }, null)
}

/** `generation`: refused with 412 if the spec has changed since. */
export async function rollBackXApp(id: XAppId, revision: number, generation: number | null): Promise<XAppRecord> {
  return post(xappPath(id, 'rollback'), { revision }, generation)
}

export interface RollbackPreview {
  /** Unified diff by object; null if the release cannot be read. */
  diff: string | null
  objects: readonly { kind: string; name: string; change: string | null }[]
  warnings: readonly string[]
}

/** What rolling back would change; nothing is changed. */
export async function previewRollback(id: XAppId, revision: number, signal?: AbortSignal): Promise<RollbackPreview> {
  const response = await request(`${xappPath(id, 'rollback')}?dryRun=true`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ revision }),
    ...(signal === undefined ? {} : { signal }),
  })
  return (await response.json()) as RollbackPreview
}

/** Shows the record of an answer at once, and reads it again: the operator may have gone on meanwhile. */
export function showRecord(client: QueryClient, id: XAppId, record: XAppRecord): void {
  const { queryKey } = xappQuery(id.namespace, id.name)
  client.setQueryData(queryKey, (known) => (known?.uid === record.uid ? { ...known, ...record } : known))
  void client.invalidateQueries({ queryKey })
}

async function post(path: string, body: object, generation: number | null): Promise<XAppRecord> {
  const response = await request(path, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(generation === null ? {} : { 'If-Match': `"${generation}"` }),
    },
    body: JSON.stringify(body),
  })
  return (await response.json()) as XAppRecord
}
