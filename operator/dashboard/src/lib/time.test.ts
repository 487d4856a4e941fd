import { expect, it } from 'vitest'

import { absoluteText, durationText, longDurationText, parseDuration, parseTime } from '~/lib/time'

it.each([
  [-5, '0 s', '0 s'],
  [59.9, '59 s', '59 s'],
  [130, '2 min', '2 min 10 s'],
  [120, '2 min', '2 min'],
  [3 * 3600 + 61, '3 h', '3 h 1 min'],
  [5 * 86_400 + 7200, '5 d', '5 d 2 h'],
  [800 * 86_400, '2 y', '800 d'],
])('%d seconds are %s, or %s', (seconds, short, long) => {
  expect(durationText(seconds)).toBe(short)
  expect(longDurationText(seconds)).toBe(long)
})

it('reads times of the API', () => {
  const at = parseTime('2026-11-22T05:09:07Z')
  expect(at?.getTime()).toBe(Date.UTC(2026, 10, 22, 5, 9, 7))
  expect(at === null ? '' : absoluteText(at)).toMatch(/^2026-11-2\d \d\d:\d\d:07$/)
  expect(parseTime(null)).toBeNull()
  expect(parseTime('soon')).toBeNull()
})

it.each([
  ['90s', 90],
  ['1h30m', 5400],
  ['1.5h', 5400],
  ['500ms', 0.5],
  ['5', null],
  ['5m 3s', null],
  ['-5m', null],
  ['', null],
])('reads the duration %j', (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds)
})
