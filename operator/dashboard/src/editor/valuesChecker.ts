import type { ChartFacts, MarkedProblem, SchemaResult } from '~/lib/values/checkValues'

import type { WorkerRequest } from './worker'

/** How long a step may take: texts, and the regular expressions of a schema, are written by others. */
export const STEP_TIMEOUT_MS = 500

export interface ValuesCheck {
  problems: MarkedProblem[]
  /** Why the schema could not be applied here; null if it was, or if there is none. */
  unchecked: string | null
}

type WorkerAnswer =
  | { kind: 'started'; id: number }
  | { kind: 'read'; id: number; problems: MarkedProblem[] }
  | { kind: 'done'; id: number; schema: SchemaResult }

export interface WorkerLike {
  postMessage: (message: WorkerRequest) => void
  terminate: () => void
  onmessage: ((event: MessageEvent<WorkerAnswer>) => void) | null
  onerror: ((event: ErrorEvent) => void) | null
}

const READ_TOO_SLOW =
  'It takes longer than half a second to read this text, so it is not checked here, only when it is sent.'
const SCHEMA_TOO_SLOW =
  'A pattern of the schema takes longer than half a second, so the text is not checked here, only when it is sent.'

/**
 * Checks the values of one page, one text at a time: a newer text replaces one that waits.
 *
 * `onResult` gets what is known at once, and again with the schema.
 */
export class ValuesChecker {
  private worker: WorkerLike | null = null
  private chart: ChartFacts | null = null
  private running: { id: number; timer: ReturnType<typeof setTimeout> | undefined; problems: MarkedProblem[] } | null =
    null
  private waiting: string | null = null
  private lastId = 0
  private readonly start: () => WorkerLike
  private readonly onResult: (check: ValuesCheck) => void

  constructor(start: () => WorkerLike, onResult: (check: ValuesCheck) => void) {
    this.start = start
    this.onResult = onResult
  }

  setChart(chart: ChartFacts): void {
    this.chart = chart
    this.worker?.postMessage({ kind: 'chart', chart })
  }

  check(text: string): void {
    this.waiting = text
    if (this.running === null) this.next()
  }

  close(): void {
    clearTimeout(this.running?.timer)
    this.worker?.terminate()
    this.worker = null
    this.running = null
    this.waiting = null
  }

  private next(): void {
    const text = this.waiting
    this.waiting = null
    this.running = null
    if (text === null) return
    this.lastId += 1
    this.running = { id: this.lastId, timer: undefined, problems: [] }
    this.workerFor().postMessage({ kind: 'check', id: this.lastId, text })
  }

  private workerFor(): WorkerLike {
    if (this.worker) return this.worker
    const worker = this.start()
    worker.onmessage = ({ data }) => this.answered(data)
    worker.onerror = () => this.failed('The values could not be checked here.')
    if (this.chart) worker.postMessage({ kind: 'chart', chart: this.chart })
    this.worker = worker
    return worker
  }

  private answered(answer: WorkerAnswer): void {
    const { running } = this
    if (running?.id !== answer.id) return
    clearTimeout(running.timer)
    if (answer.kind === 'started') {
      // Not before: a worker that has to be loaded takes its time.
      running.timer = setTimeout(() => this.failed(READ_TOO_SLOW), STEP_TIMEOUT_MS)
      return
    }
    if (answer.kind === 'read') {
      running.problems = answer.problems
      running.timer = setTimeout(() => this.failed(SCHEMA_TOO_SLOW), STEP_TIMEOUT_MS)
      this.onResult({ problems: answer.problems, unchecked: null })
      return
    }
    const { problems, unchecked } = answer.schema
    this.onResult({ problems: [...running.problems, ...problems], unchecked })
    this.next()
  }

  private failed(reason: string): void {
    clearTimeout(this.running?.timer)
    this.worker?.terminate()
    this.worker = null
    this.onResult({ problems: this.running?.problems ?? [], unchecked: reason })
    this.next()
  }
}
