/** The lines of a log that a page has received. */

import { parseAnsi } from '~/lib/ansi'

/** Lines that a page keeps; the oldest go first. */
export const LOG_LINES_MAX = 50_000

export interface LogLine {
  /** When it was written, RFC 3339; null for lines of the page itself and of the kubelet. */
  at: string | null
  text: string
}

/** A list of at most `max` lines that forgets the oldest. */
export class LogBuffer {
  private readonly max: number
  private lines: LogLine[] = []
  private forgotten = 0

  constructor(max: number = LOG_LINES_MAX) {
    this.max = max
  }

  get size(): number {
    return Math.min(this.lines.length, this.max)
  }

  /** How many lines are gone because there was no room. */
  get dropped(): number {
    return this.forgotten
  }

  append(added: readonly LogLine[]): void {
    this.lines.push(...added.slice(-this.max))
    // Cutting rarely keeps appending cheap.
    if (this.lines.length > 1.2 * this.max) this.cut()
  }

  clear(): void {
    this.lines = []
    this.forgotten = 0
  }

  all(): readonly LogLine[] {
    this.cut()
    return this.lines
  }

  private cut(): void {
    const excess = this.lines.length - this.max
    if (excess <= 0) return
    this.lines.splice(0, excess)
    this.forgotten += excess
  }
}

/** Returns the time of an event id: `2026-11-22T05:00:00.123456789Z`, or with `#2` behind it. */
export function lineTime(eventId: string): string | null {
  const [time = ''] = eventId.split('#')
  return time === '' ? null : time
}

/** Returns a line as the page shows it: with its time to the millisecond, if times are shown. */
export function lineText({ at, text }: LogLine, showsTimes: boolean): string {
  if (!showsTimes) return text
  return `${at === null ? ' '.repeat(TIME_WIDTH) : shortTime(at)} ${text}`
}

const TIME_WIDTH = '2026-11-22T05:00:00.123Z'.length

function shortTime(at: string): string {
  const [seconds = '', fraction = ''] = at.replace(/Z$/, '').split('.')
  return `${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`
}

const ESCAPE = String.fromCharCode(27)

/** Returns the name of a file to save a log in. */
export function logFileName({
  pod,
  container,
  previous,
}: {
  pod: string
  container: string
  previous: boolean
}): string {
  const safe = [pod, container, ...(previous ? ['previous'] : [])].map((part) => part.replace(/[^\w.-]+/g, '_'))
  return `${safe.filter((part) => part !== '').join('-')}.log`
}

/** Returns a line that the page adds itself, set apart from what the container wrote. */
export function remarkLine(text: string): LogLine {
  return { at: null, text: `${ESCAPE}[2m--- ${text} ---${ESCAPE}[0m` }
}

/** Returns the last `count` lines without the escape sequences of terminals. */
export function plainLines(log: string, count: number): string {
  const lines = log.trimEnd().split('\n').slice(-count)
  return lines.map((line) => parseAnsi(line).text).join('\n')
}
