/**
 * Requests to the gateway. All of them, streams too, carry the proof of the session, and fail with a `Problem` or
 * `NotConnected`.
 */

import createClient, { type ClientOptions } from 'openapi-fetch'

import { gatewayAnswered, gatewayFailed, isNotReady, streamFailed } from '~/api/connection'
import { readLimitedText } from '~/api/limitedText'
import type { components, paths } from '~/api/schema.gen'
import { sessionProof, sessionWasRefused } from '~/api/session'
import { namespaceOfRequest, NotConnected, parseProblem, type Problem } from '~/lib/problem'

export type Schemas = components['schemas']
export type { paths }

const PROOF_HEADER = 'X-Session-Proof'
/** Requests that may be sent twice: a dry run, and signing in. */
const WITHOUT_EFFECT = /[?&]dryRun=true|\/api\/session$/
const STATUS_UNAUTHORIZED = 401
/** What the gateway passes on from an xApp: its status says nothing about the gateway or the session. */
const PROXIED = /^\/api\/xapps\/[^/]+\/[^/]+\/(?:api|proxy)(?:\/|$)/
const PROXIED_ERROR_MAX_BYTES = 64 * 1024

interface RequestOptions {
  /** Sends a request as it is. `fetch` does, and `api/uploads.ts` in another way. */
  transport?: (sent: Request) => Promise<Response>
  /** A stream that fails says less of the gateway: a proxy may cut streams only. */
  isStream?: boolean
}

/**
 * Sends a request to a path of the gateway and returns its response, whose status is below 400.
 *
 * Raises Problem for any other status, NotConnected if there is no answer, and AbortError if `signal` aborts.
 */
export async function request(
  input: string | Request,
  init?: RequestInit,
  { transport = (sent) => fetch(sent), isStream = false }: RequestOptions = {},
): Promise<Response> {
  const proof = sessionProof()
  const sent = new Request(input, { credentials: 'same-origin', cache: 'no-store', ...init })
  if (proof !== null) sent.headers.set(PROOF_HEADER, proof)
  const response = await transport(sent).catch((error: unknown) => {
    if (sent.signal.aborted) throw error
    if (isStream) streamFailed()
    else gatewayFailed('offline')
    throw new NotConnected(sent.method !== 'GET' && !WITHOUT_EFFECT.test(sent.url))
  })
  if (response.ok) {
    gatewayAnswered()
    return response
  }
  const isProxied = PROXIED.test(new URL(sent.url).pathname)
  const problem = await readProblem(sent, response, isProxied)
  if (isProxied) gatewayAnswered()
  else noteProblem(problem, proof, isStream)
  throw problem
}

async function readProblem(sent: Request, response: Response, isProxied: boolean): Promise<Problem> {
  const url = new URL(sent.url)
  const text = isProxied ? readLimitedText(response, PROXIED_ERROR_MAX_BYTES) : response.text()
  return parseProblem(
    await text.catch(() => ''),
    { status: response.status, statusText: response.statusText, retryAfter: response.headers.get('Retry-After') },
    { method: sent.method, path: url.pathname, namespace: namespaceOfRequest(url) },
  )
}

function noteProblem(problem: Problem, proof: string | null, isStream: boolean): void {
  if (!isNotReady(problem.status, problem.type)) gatewayAnswered()
  else if (isStream) streamFailed()
  else gatewayFailed('starting', problem.retryAfter)
  // Another tab may have signed in since this request was sent.
  if (problem.status === STATUS_UNAUTHORIZED && proof === sessionProof()) sessionWasRefused()
}

const options: ClientOptions = {
  baseUrl: typeof location === 'undefined' ? 'http://localhost' : location.origin,
  // Looked up at each call, so that a test can replace it.
  fetch: (input) => request(input),
  // A repeated parameter is "or": namespace=a&namespace=b.
  querySerializer: { array: { style: 'form', explode: true } },
}

/** The API, typed by its OpenAPI document. Wrap calls in `read`. */
export const api = createClient<paths>(options)

interface Answer<T> {
  data?: T
  response: Response
}

/** Returns the data of an answer. */
export async function read<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data } = await answer
  return data as T
}
