import { describe, expect, it } from 'vitest'

import { LogBuffer, lineText, lineTime, logFileName, plainLines } from '~/lib/xapp/logLines'

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

describe('the name of a saved log', () => {
  it('has no characters that mean something to a file system', () => {
    expect(logFileName({ pod: 'kpi-0', container: '../x', previous: true })).toBe('kpi-0-.._x-previous.log')
  })
})
