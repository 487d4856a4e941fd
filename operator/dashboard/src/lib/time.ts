/** Times in words. */

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365 * DAY

/** Returns for example "12 s", "5 min", "3 h", "5 d", "2 y": how long `seconds` are, in one unit. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  if (whole < MINUTE) return `${whole} s`
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)} min`
  if (whole < DAY) return `${Math.floor(whole / HOUR)} h`
  if (whole < YEAR) return `${Math.floor(whole / DAY)} d`
  return `${Math.floor(whole / YEAR)} y`
}

/** Returns for example "2 min 10 s": with a second unit, for waits. */
export function longDurationText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  if (whole < MINUTE) return `${whole} s`
  if (whole < HOUR) return joinUnits(Math.floor(whole / MINUTE), 'min', whole % MINUTE, 's')
  if (whole < DAY) return joinUnits(Math.floor(whole / HOUR), 'h', Math.floor((whole % HOUR) / MINUTE), 'min')
  return joinUnits(Math.floor(whole / DAY), 'd', Math.floor((whole % DAY) / HOUR), 'h')
}

/** Returns for example "14:03:12" in the time zone of the reader. */
export function clockText(at: Date): string {
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(':')
}

/** Returns for example "2026-11-22 14:03:12" in the time zone of the reader. */
export function absoluteText(at: Date): string {
  const date = [at.getFullYear(), twoDigits(at.getMonth() + 1), twoDigits(at.getDate())].join('-')
  return `${date} ${clockText(at)}`
}

/** Returns the date of an RFC 3339 text, or null. */
export function parseTime(text: string | null | undefined): Date | null {
  if (text === null || text === undefined) return null
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? null : at
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: MINUTE, h: HOUR }

/** Returns the seconds of a duration such as 1h30m (Go's notation), or null: as `parse_duration` of the API does. */
export function parseDuration(text: string): number | null {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)]
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) return null
  return parts.reduce((sum, [, number, unit = '']) => sum + Number(number) * (UNIT_SECONDS[unit] ?? 0), 0)
}

/** Returns how many milliseconds a text of `durationText` stays the same. */
export function durationStep(seconds: number): number {
  if (seconds < MINUTE) return 1000
  return seconds < HOUR ? 15_000 : 60_000
}

function joinUnits(first: number, firstUnit: string, second: number, secondUnit: string): string {
  return second === 0 ? `${first} ${firstUnit}` : `${first} ${firstUnit} ${second} ${secondUnit}`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}
