import { queryOptions } from '@tanstack/react-query'

import { api, read, request, type Schemas } from '~/api/client'
import { forgetProof, storeProof } from '~/api/session'
import { Problem } from '~/lib/problem'

const STATUS_UNAUTHORIZED = 401

/** Who the caller is. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: 60_000,
  queryFn: ({ signal }) => read(api.GET('/api/session', { signal })),
})

/** The gateway: its version and authentication without a session, more with one. */
export const aboutQuery = queryOptions({
  queryKey: ['about'],
  staleTime: 5 * 60_000,
  queryFn: async ({ signal }): Promise<Partial<Schemas['About']> & Schemas['AboutAnyone']> => {
    const response = await request('/api/about', { signal })
    return (await response.json()) as Schemas['About']
  },
})

/** Begins a session. The token is in this one request only. */
export async function signIn(token: string): Promise<void> {
  const { proof } = await read(api.POST('/api/session', { body: { token } }))
  // Without authentication there is no session, and no proof.
  if (proof !== null) storeProof(proof)
}

/** Ends the session on every replica, and in all tabs. */
export async function signOut(): Promise<void> {
  try {
    await request('/api/session', { method: 'DELETE' })
  } catch (error) {
    // The session has ended before.
    if (!(error instanceof Problem && error.status === STATUS_UNAUTHORIZED)) throw error
  }
  forgetProof()
}
