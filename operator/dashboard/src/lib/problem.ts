/** Errors of the API: problem details (RFC 9457), and failures to reach the gateway at all. */

import type { NextRequest } from '~/lib/nextPages'
import { missingRightsText, type MissingRight } from '~/lib/rights'

export interface FieldProblem {
  field: string
  message: string
  line?: number
  column?: number
}

interface ProblemFields {
  type: string
  title: string
  status: number
  detail: string
  instance: string
  errors: readonly FieldProblem[]
  missing: readonly MissingRight[]
  /** Requests to the API that help. */
  next?: readonly NextRequest[]
}

/** A request that the gateway refused. `missing` names the rights that a 403 lacks. */
export class Problem extends Error implements ProblemFields {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance: string
  readonly errors: readonly FieldProblem[]
  readonly missing: readonly MissingRight[]
  readonly next: readonly NextRequest[]
  /** Seconds to wait before the next try, or null. */
  readonly retryAfter: number | null
  readonly method: string
  readonly at: Date
  /** The missing rights in words; empty if none is named. */
  readonly needs: string

  constructor(fields: ProblemFields, context: { method: string; retryAfter: number | null; at: Date; needs?: string }) {
    super(fields.detail || fields.title)
    this.name = 'Problem'
    this.type = fields.type
    this.title = fields.title
    this.status = fields.status
    this.detail = fields.detail
    this.instance = fields.instance
    this.errors = fields.errors
    this.missing = fields.missing
    this.next = fields.next ?? []
    this.retryAfter = context.retryAfter
    this.method = context.method
    this.at = context.at
    this.needs = context.needs ?? ''
  }

  /** Returns whether this is the named kind of problem: the last part of `type`, such as "precondition-failed". */
  is(kind: string): boolean {
    return this.type === kind || this.type.endsWith(`:${kind}`)
  }

  /** Returns a text for "Copy report": what was asked, when, and what the gateway answered. */
  report(): string {
    return [
      `${this.method} ${this.instance}`,
      `at ${this.at.toISOString()}`,
      `${this.status} ${this.title} (${this.type})`,
      this.detail,
      ...this.errors.map((error) => `${error.field}: ${error.message}`),
      ...(this.needs === '' ? [] : [this.needs]),
    ].join('\n')
  }
}

/** The gateway did not answer. */
export class NotConnected extends Error {
  readonly at = new Date()

  /** With `isWrite`, the request may have had its effect: only its answer is missing. */
  constructor(isWrite = false) {
    super(
      isWrite
        ? 'The gateway does not answer. It may have accepted this before the connection broke: look before you send it again.'
        : 'The gateway does not answer.',
    )
    this.name = 'NotConnected'
  }
}

/** Files of the dashboard could not be loaded: the gateway is away, or it is of another version by now. */
export class NotLoaded extends Error {
  /** `what` they are for, for example "this page". */
  constructor(what: string, options?: ErrorOptions) {
    super(`The gateway did not send the files of ${what}.`, options)
    this.name = 'NotLoaded'
  }
}

/** Returns the problem that a response with an error status tells, whatever its body is. */
export function parseProblem(
  body: string,
  response: { status: number; statusText: string; retryAfter: string | null },
  request: { method: string; path: string; namespace?: string | undefined },
): Problem {
  const found = parseObject(body)
  const missing = list(found.missing).flatMap(missingRight)
  return new Problem(
    {
      type: text(found.type, 'about:blank'),
      title: text(found.title, response.statusText || `Status ${response.status}`),
      status: response.status,
      detail: text(found.detail, found.title === undefined ? foreignDetail(body) : ''),
      instance: text(found.instance, request.path),
      errors: list(found.errors).flatMap(fieldProblem),
      missing,
      next: list(found.next).flatMap(nextRequest),
    },
    {
      method: request.method,
      retryAfter: parseRetryAfter(response.retryAfter),
      at: new Date(),
      needs: missing.length > 0 ? missingRightsText(missing, request.namespace) : '',
    },
  )
}

const NAMESPACE_IN_PATH = /^\/api\/(?:xapps|repositories)\/([a-z0-9-]+)\//

/** Returns the namespace that a request is about, if it names exactly one. */
export function namespaceOfRequest(url: URL): string | undefined {
  const [asked, ...others] = url.searchParams.getAll('namespace')
  return NAMESPACE_IN_PATH.exec(url.pathname)?.[1] ?? (others.length === 0 ? asked : undefined)
}

/** Timers of browsers end at once if they are to last for more than 24 days. */
const RETRY_AFTER_MAX_SECONDS = 3600

/** Returns the seconds of a Retry-After header, at most an hour, or null if there is none. */
export function parseRetryAfter(header: string | null, now: number = Date.now()): number | null {
  if (header === null || header.trim() === '') return null
  const seconds = /^\d+$/.test(header.trim()) ? Number(header.trim()) : Math.ceil((Date.parse(header) - now) / 1000)
  return Number.isNaN(seconds) ? null : Math.min(RETRY_AFTER_MAX_SECONDS, Math.max(0, seconds))
}

/** Returns the messages of each field; a field may have several. Empty for errors that name no field. */
export function fieldErrors(error: unknown): ReadonlyMap<string, readonly FieldProblem[]> {
  const found = new Map<string, FieldProblem[]>()
  if (!(error instanceof Problem)) return found
  for (const each of error.errors) {
    const known = found.get(each.field)
    if (known === undefined) found.set(each.field, [each])
    else known.push(each)
  }
  return found
}

const STATUS_UNAUTHORIZED = 401

/** Details that the gateway gives in the words of its API, as pages say them. By kind of problem, or by status. */
const PAGE_WORDS: Readonly<Record<string, string>> = {
  'replaced-meanwhile of a repository':
    'Somebody else replaced this repository: another one of its name was saved since. Nothing was changed. Look at the new one, then decide.',
  'precondition-failed of a repository':
    'Somebody else changed this repository since. Nothing of yours was written. Look at what it is now, then do it again.',
  'replaced-meanwhile':
    'Somebody else replaced this xApp: another one of its name was deployed since. Nothing was changed. Look at the new one, then decide.',
  'precondition-failed':
    'Somebody else changed this xApp since. Nothing of yours was written. Look at what it is now, then do it again.',
  [STATUS_UNAUTHORIZED]: 'Your sign-in had ended, so nothing was changed. Once you are signed in, do it again.',
}

/** Returns what a person reads about any error: a title and a detail. */
export function describeError(error: unknown): { title: string; detail: string } {
  if (error instanceof Problem) {
    const kind = error.type.split(':').at(-1) ?? ''
    const ofRepository = error.instance.startsWith('/api/repositories/')
      ? PAGE_WORDS[`${kind} of a repository`]
      : undefined
    const words = ofRepository ?? PAGE_WORDS[kind] ?? PAGE_WORDS[error.status]
    if (words !== undefined) return { title: error.title, detail: words }
    const detail = error.needs === '' || /(?:^|[.!?])$/.test(error.detail) ? error.detail : `${error.detail}.`
    return { title: error.title, detail: [detail, error.needs].filter((part) => part !== '').join(' ') }
  }
  if (error instanceof NotConnected) return { title: 'Not connected', detail: error.message }
  if (error instanceof NotLoaded) return { title: 'Not loaded', detail: error.message }
  return { title: 'The page failed', detail: error instanceof Error ? error.message : String(error) }
}

/**
 * Returns whether the shell says this about a read, for the whole page: the gateway is away or starts, or the session
 * has ended. The read is repeated by itself afterwards, so its place needs no error of its own.
 */
export function isSaidOnce(error: unknown): boolean {
  if (error instanceof Problem) return error.status === STATUS_UNAUTHORIZED || error.is('not-ready')
  return error instanceof NotConnected
}

/** Returns a text for "Copy report" about any error. */
export function reportOf(error: unknown): string {
  if (error instanceof Problem) return error.report()
  if (error instanceof NotConnected) return `Not connected at ${error.at.toISOString()}: ${error.message}`
  return error instanceof Error ? `${error.name}: ${error.message}\n${error.stack ?? ''}` : String(error)
}

function parseObject(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function text(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise
}

const FOREIGN_DETAIL_MAX = 1000

/** What something else than the gateway says, such as the API of an xApp: text or JSON of its own, but no page. */
function foreignDetail(body: string): string {
  const trimmed = body.trim()
  return trimmed.startsWith('<') ? '' : trimmed.slice(0, FOREIGN_DETAIL_MAX)
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function fieldProblem(value: unknown): FieldProblem[] {
  if (typeof value !== 'object' || value === null) return []
  const { field, message, line, column } = value as Record<string, unknown>
  if (typeof field !== 'string' || typeof message !== 'string') return []
  return [
    {
      field,
      message,
      ...(typeof line === 'number' ? { line } : {}),
      ...(typeof column === 'number' ? { column } : {}),
    },
  ]
}

function nextRequest(value: unknown): NextRequest[] {
  if (typeof value !== 'object' || value === null) return []
  const { method, path } = value as Record<string, unknown>
  return typeof method === 'string' && typeof path === 'string' ? [{ method, path }] : []
}

function missingRight(value: unknown): MissingRight[] {
  if (typeof value !== 'object' || value === null) return []
  const { verb, group, resource, subresource } = value as Record<string, unknown>
  if (typeof verb !== 'string' || typeof resource !== 'string') return []
  return [
    {
      verb,
      group: typeof group === 'string' ? group : '',
      resource,
      subresource: typeof subresource === 'string' ? subresource : null,
    },
  ]
}
