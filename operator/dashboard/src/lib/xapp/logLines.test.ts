import { describe, expect, it } from 'vitest'

import {
  cutLine,
  LINE_MAX_BYTES,
  LOG_WEIGHT_MAX,
  LogBuffer,
  lineText,
  lineTime,
  logFileName,
  plainLines,
} from '~/lib/xapp/logLines'

describe('the buffer of a log', () => {
  it('forgets the oldest lines and counts them', () => {
    const buffer = new LogBuffer(10)
    for (let index = 0; index < 25; index += 1) buffer.append([{ at: null, text: String(index) }])
    expect(buffer.all().map(({ text }) => text)).toEqual(['15', '16', '17', '18', '19', '20', '21', '22', '23', '24'])
    expect(buffer.dropped).toBe(15)
    buffer.clear()
    expect([buffer.size, buffer.dropped]).toEqual([0, 0])
  })

  it('keeps the end of a bundle that is too large for it', () => {
    const buffer = new LogBuffer(2)
    buffer.append(['a', 'b', 'c'].map((text) => ({ at: null, text })))
    expect(buffer.all().map(({ text }) => text)).toEqual(['b', 'c'])
  })
})

describe('a log with long lines', () => {
  const keptOf = (text: string, count = 5_000): { lines: number; dropped: number } => {
    const buffer = new LogBuffer()
    for (let index = 0; index < count; index += 1) buffer.append([{ at: null, text }])
    return { lines: buffer.all().length, dropped: buffer.dropped }
  }

  it('keeps what weighs 16 MiB, and counts the rest', () => {
    const { lines, dropped } = keptOf('x'.repeat(LINE_MAX_BYTES))
    expect(lines * LINE_MAX_BYTES).toBeLessThanOrEqual(LOG_WEIGHT_MAX)
    expect(lines * LINE_MAX_BYTES).toBeGreaterThan(0.9 * LOG_WEIGHT_MAX)
    expect(lines + dropped).toBe(5_000)
    expect(keptOf('x')).toEqual({ lines: 5_000, dropped: 0 })
  })

  it('counts a colour more than its characters', () => {
    const { lines } = keptOf('\u001b[1mx'.repeat(LINE_MAX_BYTES / 5), 1_000)
    expect(lines).toBeLessThan(300)
  })

  it('keeps one line, however long it is', () => {
    const buffer = new LogBuffer(10, 100)
    buffer.append([{ at: null, text: 'x' }])
    buffer.append([{ at: null, text: 'y'.repeat(1_000) }])
    expect([buffer.size, buffer.dropped]).toEqual([1, 1])
  })
})

describe('a long line', () => {
  it('is cut with a mark that says so', () => {
    const cut = cutLine('x'.repeat(64 * 1024))
    expect(cut.slice(0, LINE_MAX_BYTES)).toBe('x'.repeat(LINE_MAX_BYTES))
    expect(cut.slice(LINE_MAX_BYTES)).toContain('the rest of this line is left out')
    expect(cutLine('x'.repeat(LINE_MAX_BYTES))).toBe('x'.repeat(LINE_MAX_BYTES))
  })

  it('is cut between characters, and never in an escape sequence', () => {
    const shown = (text: string, bytes: number): string => plainLines(cutLine(text, bytes), 1).split(' …')[0] ?? ''
    expect(shown('\u{1F600}'.repeat(9), 10)).toBe('\u{1F600}\u{1F600}')
    expect(shown(`abc\u001b[31m${'red'.repeat(9)}`, 6)).toBe('abc')
    expect(shown(`abc\u001b]8;;https://${'x'.repeat(99)}`, 40)).toBe('abc')
  })
})

describe('a line', () => {
  it('has its time to the millisecond', () => {
    const at = lineTime('2026-11-22T05:00:00.123456789Z#2')
    expect(lineText({ at, text: 'x' }, true)).toBe('2026-11-22T05:00:00.123Z x')
    expect(lineText({ at: '2026-11-22T05:00:00Z', text: 'x' }, true)).toBe('2026-11-22T05:00:00.000Z x')
    expect(lineText({ at, text: 'x' }, false)).toBe('x')
  })

  it('of the page itself has none', () => {
    expect(lineTime('')).toBeNull()
    expect(lineText({ at: null, text: 'x' }, true)).toBe(`${' '.repeat(24)} x`)
  })
})

describe('the last words', () => {
  it('are the last lines without escape sequences', () => {
    expect(plainLines('one\n\u001b[31mtwo\u001b[0m\nthree\n', 2)).toBe('two\nthree')
  })
})

describe('long last words', () => {
  it('are the beginnings of the last lines', () => {
    const lines = plainLines(`${'a'.repeat(9_000)}\n${'b'.repeat(9_000)}\n`, 2).split('\n')
    expect(lines.map((line) => line.slice(0, 2))).toEqual(['aa', 'bb'])
    expect(lines.every((line) => line.length < 1_200 && line.includes('left out'))).toBe(true)
  })
})

describe('the name of a saved log', () => {
  it('has no characters that mean something to a file system', () => {
    expect(logFileName({ pod: 'kpi-0', container: '../x', previous: true })).toBe('kpi-0-.._x-previous.log')
  })
})
