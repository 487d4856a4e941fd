// @vitest-environment node
import { expect, it } from 'vitest'

import { parseAnsi } from './ansi'

const ESC = '\u001b'

it('turns colours into styles, and takes the sequences out', () => {
  expect(parseAnsi(`${ESC}[1;31merror${ESC}[0m: plain ${ESC}[92mok`)).toEqual({
    text: 'error: plain ok',
    spans: [
      { from: 0, to: 5, styles: ['bold', 'red'] },
      { from: 13, to: 15, styles: ['green'] },
    ],
  })
})

it.each([
  [`${ESC}[2J${ESC}[Hx`, 'x'],
  [`${ESC}]0;title\u0007x`, 'x'],
  [`${ESC}]8;;http://example.com${ESC}\\link${ESC}]8;;${ESC}\\`, 'link'],
  [`${ESC}[38;5;196mred${ESC}[38;2;1;2;3mx`, 'redx'],
  [`${ESC}(Bx`, '\u001b(Bx'],
  [ESC, '\u001b'],
  ['plain', 'plain'],
])('leaves nothing but the text: %j', (line, text) => {
  expect(parseAnsi(line)).toEqual({ text, spans: [] })
})

// Work that grows with the square of the length would take hours.
it('takes work that grows with the length only', () => {
  const line = `${ESC}]`.repeat(1_000_000)
  expect(parseAnsi(line).text.length).toBeLessThan(line.length)
})
