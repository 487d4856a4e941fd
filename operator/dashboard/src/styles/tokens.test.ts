import { readFileSync } from 'node:fs'

import { describe, expect, it } from 'vitest'

const CSS = readFileSync('src/styles/tokens.css', 'utf8')
const THEMES = ['light', 'dark'] as const
type Theme = (typeof THEMES)[number]

function color(token: string, theme: Theme): string {
  const found = new RegExp(`--${token}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\);`).exec(CSS)
  const value = found?.[theme === 'light' ? 1 : 2]
  if (value === undefined) throw new Error(`tokens.css has no colour --${token}`)
  return value
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function ratio(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

const GROUNDS = ['bg', 'surface', 'raised']
const STATUS = ['ok', 'run', 'warn', 'bad', 'none', 'hold']
/** Each foreground with the grounds that it is shown on, and the ratio of WCAG that it needs there. */
const NEEDED: [foreground: string, grounds: string[], ratio: number][] = [
  ['text', [...GROUNDS, ...STATUS.map((name) => `${name}-tint`), 'diff-in', 'diff-out'], 4.5],
  ['muted', GROUNDS, 4.5],
  ['accent', GROUNDS, 4.5],
  ['on-accent', ['accent', 'bad'], 4.5],
  ['edge', GROUNDS, 3],
  ['focus', GROUNDS, 3],
  ...STATUS.map((name): [string, string[], number] => [name, [...GROUNDS, `${name}-tint`], 4.5]),
]

describe.each(THEMES)('contrast in the %s theme', (theme) => {
  it.each(NEEDED)('%s', (foreground, grounds, needed) => {
    const low = grounds.filter((ground) => ratio(color(foreground, theme), color(ground, theme)) < needed)
    expect(low).toEqual([])
  })
})

it('computes ratios as WCAG does', () => {
  expect(ratio('#000000', '#ffffff')).toBeCloseTo(21, 5)
  expect(ratio('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
})
