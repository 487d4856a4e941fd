import { describe, expect, it } from 'vitest'

import { visibleParts, visibleText } from '~/lib/visibleText'

describe('visibleText', () => {
  it.each([
    ['plain text, ümlauts, 漢字, emoji 👍 ☎️', 'plain text, ümlauts, 漢字, emoji 👍 ☎️'],
    ['a\u202Eb', 'a[U+202E]b'],
    ['\u2066x\u2069', '[U+2066]x[U+2069]'],
    ['zero\u200Bwidth', 'zero[U+200B]width'],
    ['\u001b[31mred', '␛[31mred'],
    ['line\nend\ttab', 'line␊end␉tab'],
    ['\u007f\u0085', '␡[U+0085]'],
    ['\ud800', '[U+D800]'],
    ['tag\u{e0041}', 'tag[U+E0041]'],
    ['filler\u3164', 'filler[U+3164]'],
  ])('shows %j as %j', (given, shown) => {
    expect(visibleText(given)).toBe(shown)
  })

  it('keeps line ends and tabs where there are several lines', () => {
    expect(visibleText('a\n\tb\r', { multiline: true })).toBe('a\n\tb␍')
  })

  it('marks hidden characters with their name', () => {
    expect(visibleParts('a\u202E')).toEqual([{ text: 'a' }, { text: '[U+202E]', hidden: 'U+202E' }])
  })

  it('has nothing for an empty text', () => {
    expect(visibleParts('')).toEqual([])
  })
})
