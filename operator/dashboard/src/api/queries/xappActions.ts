/**
 * Changes of one xApp. Each returns its record, as the gateway answers it with 202, and is refused with 412 if another
 * xApp has its name by then.
 */

import type { QueryClient } from '@tanstack/react-query'

import { request, type Schemas } from '~/api/client'
import { xappQuery } from '~/api/queries/xapps'
import { xappPath, type XAppId } from '~/api/queries/xappDetails'
import { Problem } from '~/lib/problem'
import { apiPath } from '~/lib/query'
import { ifMatch, type ObjectVersion } from '~/lib/ifMatch'
import { removingHere } from '~/lib/xapps/removedHere'

const STATUS_NOT_FOUND = 404

export type XAppRecord = Schemas['XAppRecord']
export type XAppActionName = 'retry' | 'reconcile' | 'force' | 'suspend' | 'resume' | 'test'

export async function actOnXApp(id: XAppId, uid: string, action: XAppActionName): Promise<XAppRecord> {
  return post(xappPath(id, 'actions'), { action }, { uid, generation: null })
}

/** `expected`: refused with 412 if the spec has changed since. */
export async function rollBackXApp(id: XAppId, expected: ObjectVersion, revision: number): Promise<XAppRecord> {
  return post(xappPath(id, 'rollback'), { revision }, expected)
}

export interface RollbackPreview {
  /** Unified diff by object; null if the release cannot be read. */
  diff: string | null
  objects: readonly { kind: string; name: string; change: string | null }[]
  warnings: readonly string[]
}

/** What rolling back would change; nothing is changed. */
export async function previewRollback(
  id: XAppId,
  uid: string,
  revision: number,
  signal: AbortSignal,
): Promise<RollbackPreview> {
  const response = await request(`${xappPath(id, 'rollback')}?dryRun=true`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...ifMatch({ uid, generation: null }) },
    body: JSON.stringify({ revision }),
    signal,
  })
  return (await response.json()) as RollbackPreview
}

/** Shows the record of an answer at once, and reads it again: the operator may have gone on meanwhile. */
export function showRecord(client: QueryClient, id: XAppId, record: XAppRecord): void {
  const { queryKey } = xappQuery(id.namespace, id.name)
  client.setQueryData(queryKey, (known) => (known?.uid === record.uid ? { ...known, ...record } : known))
  void client.invalidateQueries({ queryKey })
}

/**
 * Removes an xApp, and returns whether it was there: somebody else may have removed it before. Refused if the xApp of
 * that name is another one than `uid` by now.
 */
export function uninstallXApp(namespace: string, name: string, uid: string): Promise<boolean> {
  const removal = request(apiPath('api', 'deployment', 'xapp'), {
    method: 'DELETE',
    headers: { 'Content-Type': 'application/json', ...ifMatch({ uid, generation: null }) },
    body: JSON.stringify({ name, namespace }),
  })
  return removingHere(
    uid,
    removal.then(() => true, falseIfMissing),
  )
}

function falseIfMissing(error: unknown): false {
  if (error instanceof Problem && error.status === STATUS_NOT_FOUND) return false
  throw error
}

const STATUS_PRECONDITION_FAILED = 412

/** Reads the xApp as it is now, if a change was refused because of what somebody else did. Returns whether it was. */
export async function readAgainAfter(client: QueryClient, id: XAppId, error: unknown): Promise<boolean> {
  if (!(error instanceof Problem) || error.status !== STATUS_PRECONDITION_FAILED) return false
  await client.invalidateQueries({ queryKey: xappQuery(id.namespace, id.name).queryKey })
  return true
}

async function post(path: string, body: object, expected: ObjectVersion): Promise<XAppRecord> {
  const response = await request(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...ifMatch(expected) },
    body: JSON.stringify(body),
  })
  return (await response.json()) as XAppRecord
}
