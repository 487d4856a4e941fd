/** The xApp's own API, through the proxy of the gateway. What it answers is foreign text. */

import { queryOptions } from '@tanstack/react-query'

import { request } from '~/api/client'
import { readLimitedText } from '~/api/limitedText'
import type { XAppId } from '~/api/queries/xappDetails'

/** Bytes of a body that the page shows or sends. */
export const OWN_API_MAX_BYTES = 1024 * 1024

/** `base`: path of the xApp's API at the gateway. */
export function ownConfigQuery(id: XAppId, base: string) {
  return queryOptions({
    queryKey: ['xapps', 'ownConfig', { ...id, base }],
    queryFn: ({ signal }) => readOwn(`${base}/config`, signal),
  })
}

export function ownSchemaQuery(id: XAppId, base: string) {
  return queryOptions({
    queryKey: ['xapps', 'ownSchema', { ...id, base }],
    queryFn: ({ signal }) => readOwn(`${base}/config/schema`, signal),
  })
}

/** Replaces the run-time configuration. What the xApp says to it is not read: it has taken it. */
export async function putOwnConfig(base: string, text: string): Promise<void> {
  const response = await request(`${base}/config`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: text,
  })
  await response.body?.cancel()
}

/** Reads the configuration past the cache, to see whether somebody else has changed it. */
export async function readOwnConfig(base: string): Promise<string> {
  return readOwn(`${base}/config`)
}

async function readOwn(path: string, signal?: AbortSignal): Promise<string> {
  const response = await request(path, signal === undefined ? {} : { signal })
  return readLimitedText(response, OWN_API_MAX_BYTES)
}
