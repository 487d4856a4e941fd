/** The lines of a log that a page has received. */

import { parseAnsi } from '~/lib/ansi'

/** Lines that a page keeps; the oldest go first. */
export const LOG_LINES_MAX = 50_000
/** What the lines that a page keeps weigh in all, see `weightOf`: about 16 MiB. */
export const LOG_WEIGHT_MAX = 16 * 1024 * 1024
/** Of a longer line, the page keeps and shows the beginning. */
export const LINE_MAX_BYTES = 8 * 1024

/** A colour costs a mark in the view, which is larger than its escape sequence. */
const ESCAPE_WEIGHT = 32
const LINE_WEIGHT = 64
const ESCAPE = String.fromCharCode(27)
const CUT_MARK = `${ESCAPE}[0m${ESCAPE}[2m … the rest of this line is left out${ESCAPE}[0m`
/** No escape sequence of a colour is longer. */
const ESCAPE_LENGTH_MAX = 32

export interface LogLine {
  /** When it was written, RFC 3339; null for lines of the page itself and of the kubelet. */
  at: string | null
  text: string
}

/** The newest lines: at most `maxLines`, which weigh at most `maxWeight`. */
export class LogBuffer {
  private readonly maxLines: number
  private readonly maxWeight: number
  private lines: LogLine[] = []
  /** Lines before this index are forgotten. */
  private first = 0
  private weight = 0
  private forgotten = 0

  constructor(maxLines: number = LOG_LINES_MAX, maxWeight: number = LOG_WEIGHT_MAX) {
    this.maxLines = maxLines
    this.maxWeight = maxWeight
  }

  get size(): number {
    return this.lines.length - this.first
  }

  /** How many lines are gone because there was no room. */
  get dropped(): number {
    return this.forgotten
  }

  append(added: readonly LogLine[]): void {
    for (const line of added) {
      this.lines.push(line)
      this.weight += weightOf(line)
    }
    while (this.size > this.maxLines || (this.weight > this.maxWeight && this.size > 1)) this.forgetOldest()
    // Cutting rarely keeps appending cheap.
    if (this.first > 0.2 * this.maxLines) this.compact()
  }

  clear(): void {
    this.lines = []
    this.first = 0
    this.weight = 0
    this.forgotten = 0
  }

  all(): readonly LogLine[] {
    this.compact()
    return this.lines
  }

  private forgetOldest(): void {
    const oldest = this.lines[this.first]
    if (oldest === undefined) return
    this.weight -= weightOf(oldest)
    this.lines[this.first] = FORGOTTEN
    this.first += 1
    this.forgotten += 1
  }

  private compact(): void {
    if (this.first > 0) this.lines = this.lines.slice(this.first)
    this.first = 0
  }
}

const FORGOTTEN: LogLine = { at: null, text: '' }

function weightOf({ text }: LogLine): number {
  let weight = LINE_WEIGHT + text.length
  for (let at = text.indexOf(ESCAPE); at >= 0; at = text.indexOf(ESCAPE, at + 1)) weight += ESCAPE_WEIGHT
  return weight
}

/** Returns the beginning of a line that is longer than `maxBytes`, with a mark that says so. */
export function cutLine(text: string, maxBytes: number = LINE_MAX_BYTES): string {
  // A character has three bytes at most.
  if (text.length * 3 <= maxBytes) return text
  const bytes = new Uint8Array(maxBytes)
  const { read, written } = new TextEncoder().encodeInto(text, bytes)
  if (read === text.length) return text
  // Decoding makes a copy: a slice would keep the whole line in memory.
  const kept = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, written))
  const lastEscape = kept.lastIndexOf(ESCAPE)
  const end = lastEscape >= 0 && lastEscape > kept.length - ESCAPE_LENGTH_MAX ? lastEscape : kept.length
  return kept.slice(0, end) + CUT_MARK
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

/** Returns the last `count` lines without the escape sequences of terminals, long ones cut. */
export function plainLines(log: string, count: number): string {
  const lines = log.trimEnd().split('\n').slice(-count)
  return lines.map((line) => parseAnsi(cutLine(line, LAST_WORD_LINE_MAX_BYTES)).text).join('\n')
}

/** The last words stand among other rows: a line of them is shorter than in the log. */
const LAST_WORD_LINE_MAX_BYTES = 1024
