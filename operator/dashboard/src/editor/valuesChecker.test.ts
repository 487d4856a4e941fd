// @vitest-environment node
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { checkValues, checkValuesSchema, type ChartFacts } from '~/lib/values/checkValues'

import { STEP_TIMEOUT_MS, ValuesChecker, type ValuesCheck, type WorkerLike } from './valuesChecker'
import type { WorkerRequest } from './worker'

const CHART: ChartFacts = {
  defaultsText: 'image:\n  tag: "1"\nreplicas: 1\n',
  schemaText: JSON.stringify({ properties: { replicas: { type: 'integer', minimum: 1 } } }),
  dependencies: [],
}

/** Does in the page what the worker does; `answers` false is a worker that never comes back from a pattern, and one
 * that gets `endless` never has read the text. */
class Inline implements WorkerLike {
  static started = 0
  static ended = 0
  onmessage: WorkerLike['onmessage'] = null
  onerror: WorkerLike['onerror'] = null
  private chart: ChartFacts = { defaultsText: '', schemaText: null, dependencies: [] }
  private readonly answers: (text: string) => boolean

  constructor(answers: (text: string) => boolean) {
    this.answers = answers
    Inline.started += 1
  }

  postMessage(message: WorkerRequest): void {
    if (message.kind === 'chart') {
      this.chart = message.chart
      return
    }
    const { id, text } = message
    this.send({ kind: 'started', id })
    if (text.includes('endless')) return
    this.send({ kind: 'read', id, problems: checkValues(text, this.chart) })
    if (this.answers(text)) this.send({ kind: 'done', id, schema: checkValuesSchema(text, this.chart) })
  }

  terminate(): void {
    Inline.ended += 1
    this.onmessage = null
  }

  private send(data: unknown): void {
    this.onmessage?.({ data } as Parameters<NonNullable<WorkerLike['onmessage']>>[0])
  }
}

function checker(answers: (text: string) => boolean = () => true): { checks: ValuesCheck[]; subject: ValuesChecker } {
  const checks: ValuesCheck[] = []
  const subject = new ValuesChecker(
    () => new Inline(answers),
    (check) => checks.push(check),
  )
  subject.setChart(CHART)
  return { checks, subject }
}

beforeEach(() => {
  vi.useFakeTimers()
  Inline.started = 0
  Inline.ended = 0
})
afterEach(() => {
  vi.useRealTimers()
})

it('tells at once what needs no schema, then the rest', () => {
  const { checks, subject } = checker()
  subject.check('image:\n  tagg: 1\nreplicas: 0\n')
  expect(checks.map(({ problems }) => problems.map(({ line, severity }) => [line, severity]))).toEqual([
    [[2, 'warning']],
    [
      [2, 'warning'],
      [3, 'error'],
    ],
  ])
  expect(checks.at(-1)?.problems[1]?.path).toBe('replicas')
})

it('ends a worker that does not come back, says so, and goes on with the newest text', () => {
  const { checks, subject } = checker((text) => !text.includes('slow'))
  subject.check('slow: 1\n')
  subject.check('replicas: 1\n')
  subject.check('replicas: 0\n')
  expect(Inline.ended).toBe(0)
  vi.advanceTimersByTime(STEP_TIMEOUT_MS)
  expect(Inline.ended).toBe(1)
  expect(checks.find(({ unchecked }) => unchecked !== null)?.unchecked).toContain('longer than half a second')
  expect(Inline.started).toBe(2)
  expect(checks.at(-1)).toMatchObject({ unchecked: null, problems: [{ line: 1, path: 'replicas' }] })
  vi.advanceTimersByTime(10 * STEP_TIMEOUT_MS)
  expect(Inline.ended).toBe(1)
})

it('ends a worker that never has read the text', () => {
  const { checks, subject } = checker()
  subject.check('endless: 1\n')
  subject.check('replicas: 0\n')
  vi.advanceTimersByTime(STEP_TIMEOUT_MS)
  expect(Inline.ended).toBe(1)
  expect(checks[0]?.unchecked).toContain('to read this text')
  expect(checks.at(-1)).toMatchObject({ unchecked: null, problems: [{ line: 1, path: 'replicas' }] })
})

it('says nothing after it is closed', () => {
  const { checks, subject } = checker(() => false)
  subject.check('slow: 1\n')
  subject.close()
  vi.advanceTimersByTime(STEP_TIMEOUT_MS)
  expect(checks).toHaveLength(1)
  expect(Inline.ended).toBe(1)
})

it('does not check what is masked: the gateway knows the secret', () => {
  const schema = { properties: { password: { type: 'string', pattern: '^[a-z]+$' } } }
  const chart = { ...CHART, schemaText: JSON.stringify(schema) }
  expect(checkValuesSchema('password: "••••••"\n', chart).problems).toEqual([])
  expect(checkValuesSchema('password: "1"\n', chart).problems).toHaveLength(1)
})
