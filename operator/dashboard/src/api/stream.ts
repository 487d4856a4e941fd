/**
 * Server-Sent Events, read with fetch: an EventSource hides the status and Retry-After.
 *
 * A stream comes back by itself with the id of the last event: at once after its end, with growing pauses after a failure
 * or an early end. Neither a gateway that is back nor a sign-in nor a tab in view shortens these pauses. A stream is closed
 * 10 seconds after the tab is hidden, and opened again when the tab is in view. While other windows have all places for
 * streams, it is opened every 10 seconds, and closed as soon as it has brought what is there.
 */

import { createParser, type EventSourceMessage } from 'eventsource-parser'

import { request } from '~/api/client'
import { connection, gatewayHeard, onReconnect, streamFailed } from '~/api/connection'
import { sessionState } from '~/api/session'
import { takePlace } from '~/api/streamPlaces'
import { backoffMilliseconds } from '~/lib/backoff'
import { NotConnected, Problem } from '~/lib/problem'

/** A tab has one stream of each slot at most. */
export type StreamSlot = 'changes' | 'log'

export interface StreamOptions {
  slot: StreamSlot
  /** With its query. */
  path: string
  onMessage: (message: EventSourceMessage) => void
  /**
   * The stream is open, for the first time or again. What happened in between may be lost if `isResumed` is false. It
   * stays open if `isLive`.
   */
  onOpen?: (isResumed: boolean, isLive: boolean) => void
  /** Other windows have all places: from now on, the stream is opened for a moment every 10 seconds. */
  onCrowded?: () => void
  /** The stream brought something, if only a heartbeat. */
  onHeard?: () => void
  /** The gateway refused it for good (403, 404, 409 ...), or another stream took the slot (`null`). */
  onEnd?: (problem: Problem | null) => void
  /** The stream is interrupted and will be tried again. */
  onInterrupted?: () => void
  /** Begin after the event with this id. */
  lastEventId?: string
  /** False: a stream that the gateway ends is complete. */
  isEndless?: boolean
}

const HIDDEN_SECONDS = 10
/**
 * The gateway sends a comment every 15 seconds: a stream that is silent for longer has lost its gateway. The page says
 * so before what it shows is 30 seconds old.
 */
const SILENT_SECONDS = 28
/** A stream that ends earlier has failed: a proxy may answer and cut it each time. */
const STEADY_SECONDS = 5
const AFTER_END_MILLISECONDS = 250
/** Without a place: what is there comes at once, and the rest the next time. */
const LOOK_PAUSE_MILLISECONDS = 10_000
const LOOK_SILENT_MILLISECONDS = 1000
const LOOK_MAX_MILLISECONDS = 3000
const MAX_BUFFER = 8 * 1024 * 1024
const PASSING = new Set([401, 408, 425, 429, 500, 502, 503, 504])

const slots = new Map<StreamSlot, () => void>()

/** Opens a stream. Returns how to close it. */
export function openStream(options: StreamOptions): () => void {
  slots.get(options.slot)?.()
  const stream = new EventStream(options)
  const replace = (): void => stream.close(true)
  slots.set(options.slot, replace)
  stream.start()
  return () => {
    if (slots.get(options.slot) === replace) slots.delete(options.slot)
    stream.close(false)
  }
}

class EventStream {
  readonly #options: StreamOptions
  #abort: AbortController | null = null
  #lastId = ''
  #attempt = 0
  /** When the last request was answered; Infinity: it was not. This and `#notBefore` are times of `performance.now`. */
  #openedAt = Infinity
  #notBefore = 0
  #isClosed = false
  #isHidden = false
  #place: 'none' | 'waiting' | 'taken' | 'crowded' = 'none'
  #giveBack: () => void = () => undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #hideTimer: ReturnType<typeof setTimeout> | undefined
  #stopListening: () => void = () => undefined

  constructor(options: StreamOptions) {
    this.#options = options
    this.#lastId = options.lastEventId ?? ''
  }

  start(): void {
    const onVisibility = (): void => {
      clearTimeout(this.#hideTimer)
      if (document.hidden) {
        this.#hideTimer = setTimeout(() => {
          this.#isHidden = true
          this.#pause()
        }, HIDDEN_SECONDS * 1000)
      } else {
        this.#isHidden = false
        this.#connect()
      }
    }
    document.addEventListener('visibilitychange', onVisibility)
    const stops = [onReconnect(() => this.#connect()), sessionState.subscribe(() => this.#connect())]
    this.#stopListening = () => {
      document.removeEventListener('visibilitychange', onVisibility)
      for (const stop of stops) stop()
    }
    if (document.hidden) onVisibility()
    this.#connect()
  }

  close(isReplaced: boolean): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#stopListening()
    clearTimeout(this.#hideTimer)
    this.#pause()
    if (isReplaced) this.#options.onEnd?.(null)
  }

  #pause(): void {
    this.#cut()
    this.#giveBack()
    this.#place = 'none'
  }

  #cut(): void {
    clearTimeout(this.#timer)
    this.#abort?.abort()
    this.#abort = null
  }

  /** Connects once there is a place, or it is clear that there is none. */
  #takePlace(): void {
    this.#place = 'waiting'
    this.#giveBack = takePlace({
      onPlace: () => {
        this.#place = 'taken'
        this.#cut()
        this.#connect()
      },
      onCrowded: () => {
        this.#place = 'crowded'
        this.#options.onCrowded?.()
        this.#connect()
      },
    })
  }

  #connect(): void {
    if (this.#isClosed || this.#isHidden || this.#abort !== null) return
    clearTimeout(this.#timer)
    // Refused until somebody signs in.
    if (sessionState.get() !== 'signed-in') return
    if (performance.now() < this.#notBefore) {
      this.#connectLater(this.#notBefore - performance.now())
      return
    }
    if (this.#place === 'none') {
      this.#takePlace()
    } else if (this.#place !== 'waiting') {
      this.#abort = new AbortController()
      void this.#run(this.#abort)
    }
  }

  #connectLater(milliseconds: number): void {
    const connect = (): void => {
      // While the gateway is away, the connection tells when to try again.
      if (connection.get().state === 'online') this.#connect()
    }
    this.#timer = setTimeout(connect, milliseconds)
  }

  /** Ends a look once it brings nothing more. Returns what to call when it brings something. */
  #endLook(abort: AbortController): () => void {
    const latest = performance.now() + LOOK_MAX_MILLISECONDS
    const end = (): void => {
      if (this.#abort !== abort) return
      this.#attempt = 0
      this.#cut()
      this.#connectLater(LOOK_PAUSE_MILLISECONDS)
    }
    let timer = setTimeout(end, LOOK_SILENT_MILLISECONDS)
    return () => {
      clearTimeout(timer)
      timer = setTimeout(end, Math.min(LOOK_SILENT_MILLISECONDS, latest - performance.now()))
    }
  }

  async #run(abort: AbortController): Promise<void> {
    let retryAfter: number | null = null
    let hasFailed = false
    this.#openedAt = Infinity
    try {
      const isComplete = await this.#read(abort)
      if (isComplete) {
        this.#finish(null)
        return
      }
    } catch (error) {
      if (abort.signal.aborted) return
      if (error instanceof Problem && !PASSING.has(error.status)) {
        this.#finish(error)
        return
      }
      hasFailed = true
      if (error instanceof Problem) retryAfter = error.retryAfter
    }
    if (this.#abort !== abort) return
    this.#abort = null
    const isSteady = performance.now() - this.#openedAt >= STEADY_SECONDS * 1000
    if (isSteady) this.#attempt = 0
    let wait = AFTER_END_MILLISECONDS
    if (hasFailed || !isSteady) {
      wait = backoffMilliseconds(this.#attempt, retryAfter)
      this.#attempt += 1
      this.#options.onInterrupted?.()
    }
    this.#notBefore = performance.now() + wait
    this.#connectLater(wait)
  }

  #finish(problem: Problem | null): void {
    this.close(false)
    this.#options.onEnd?.(problem)
  }

  /** Returns true when the stream is complete. */
  async #read(abort: AbortController): Promise<boolean> {
    const { signal } = abort
    const isLive = this.#place === 'taken'
    const headers = new Headers({ Accept: 'text/event-stream' })
    if (this.#lastId !== '') headers.set('Last-Event-ID', this.#lastId)
    const response = await request(this.#options.path, { headers, signal }, { isStream: true })
    this.#openedAt = performance.now()
    if (response.body === null) return false
    this.#options.onOpen?.(this.#lastId !== '', isLive)
    const noteLook = isLive ? null : this.#endLook(abort)
    const parser = createParser({
      maxBufferSize: MAX_BUFFER,
      onEvent: (message) => {
        if (message.id !== undefined) this.#lastId = message.id
        this.#options.onMessage(message)
      },
    })
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { done, value } = await beforeSilence(reader, signal)
      if (signal.aborted) return false
      if (done) return this.#options.isEndless === false
      noteLook?.()
      gatewayHeard()
      this.#options.onHeard?.()
      parser.feed(value)
    }
  }
}

/** Reads on. Raises NotConnected, and lets the gateway be asked, if nothing comes for SILENT_SECONDS. */
async function beforeSilence<T>(
  reader: ReadableStreamDefaultReader<T>,
  signal: AbortSignal,
): Promise<ReadableStreamReadResult<T>> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      if (!signal.aborted) streamFailed(true)
      reject(new NotConnected(false))
      void reader.cancel().catch(() => undefined)
    }, SILENT_SECONDS * 1000)
  })
  try {
    return await Promise.race([reader.read(), silence])
  } finally {
    clearTimeout(timer)
  }
}
