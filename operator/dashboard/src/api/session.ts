/** Who is signed in. The cookie is HttpOnly; what pages keep is its proof, which is worthless without the cookie. */

import { createStore } from '~/lib/store'

const PROOF_KEY = 'xapp-session-proof'

export type SessionState =
  | 'signed-in'
  /** No session was ever begun in this browser, or it was signed out. */
  | 'signed-out'
  /** The gateway refused a session that was in use: the sign-in dialog opens over the page. */
  | 'expired'

export const sessionState = createStore<SessionState>('signed-in')

/** Grows with each sign-in, in this tab or another: what was read before may belong to somebody else. */
export const sessionCount = createStore(0)

/** The proof of the session, or null. */
export function sessionProof(): string | null {
  try {
    return localStorage.getItem(PROOF_KEY)
  } catch {
    return null
  }
}

export function storeProof(proof: string): void {
  localStorage.setItem(PROOF_KEY, proof)
  noteSignIn()
}

export function forgetProof(): void {
  localStorage.removeItem(PROOF_KEY)
  sessionState.set('signed-out')
}

/** Records that a request got 401. */
export function sessionWasRefused(): void {
  sessionState.set((current) =>
    current === 'signed-out' ? current : sessionProof() === null ? 'signed-out' : 'expired',
  )
}

/** Signs in and out with the other tabs of this browser. */
export function followOtherTabs(): () => void {
  const onStorage = (event: StorageEvent): void => {
    if (event.key !== PROOF_KEY) return
    if (event.newValue === null) sessionState.set('signed-out')
    else noteSignIn()
  }
  window.addEventListener('storage', onStorage)
  return () => window.removeEventListener('storage', onStorage)
}

function noteSignIn(): void {
  sessionState.set('signed-in')
  sessionCount.set((count) => count + 1)
}
