/** For tests: requests to paths, as in a browser. */

import { vi } from 'vitest'

/** Makes Node's Request take a path; it wants a whole URL, and knows no signal of jsdom. */
export function allowPathsInRequests(): void {
  const NodeRequest = Request
  vi.stubGlobal(
    'Request',
    class extends NodeRequest {
      constructor(input: string | Request, init?: RequestInit) {
        super(typeof input === 'string' ? new URL(input, 'http://gateway') : input, { ...init, signal: null })
      }
    },
  )
}
