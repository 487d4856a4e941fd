import type { ScalarTag } from 'yaml'

/**
 * What a plain scalar means to helm: YAML 1.1 with the rules of go.yaml.in/yaml/v2, not those of this library.
 * The gateway has the same rules (`domain/chart_values/yaml_scalars.py`); a test compares them case by case.
 */
const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

function wholeNumber(value: bigint): number | bigint {
  if (value < INT64_MIN || value > INT64_MAX) return Number(value)
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** What no float64 can hold is a text to helm. */
function finite(value: number, text: string): number | string {
  return Number.isFinite(value) ? value : text
}

function decimal(text: string): number | bigint | string {
  const digits = text.replaceAll('_', '')
  // More digits than a uint64 has are a float to helm, and BigInt would take long.
  return digits.length > 20 ? finite(Number(digits), text) : wholeNumber(BigInt(digits.replace(/^\+/, '')))
}

function prefixed(text: string): number | bigint {
  const digits = text.replaceAll('_', '')
  const negative = digits.startsWith('-')
  const bare = digits.replace(/^[-+]/, '').replace(/^0o?(?=[0-7]+$)/i, '0o')
  if (bare.length > 66) return Number(bare)
  const value = BigInt(bare)
  return wholeNumber(negative ? -value : value)
}

type Identify = (value: unknown) => boolean

function tag(name: string, test: RegExp, resolve: (text: string) => unknown, identify?: Identify): ScalarTag {
  const base: ScalarTag = { tag: `tag:yaml.org,2002:${name}`, default: true, test, resolve }
  return identify ? { ...base, identify, stringify: ({ value }) => String(value) } : base
}

const isWhole: Identify = (value) => typeof value === 'bigint' || Number.isSafeInteger(value)

export const HELM_SCALARS: ScalarTag[] = [
  tag(
    'null',
    /^(?:~|null|Null|NULL)?$/,
    () => null,
    (value) => value === null,
  ),
  tag(
    'bool',
    /^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON)$/,
    () => true,
    (value) => value === true,
  ),
  tag(
    'bool',
    /^(?:n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$/,
    () => false,
    (value) => value === false,
  ),
  tag('int', /^[-+]?(?:0|[1-9][0-9_]*)$/, decimal, isWhole),
  tag('int', /^[-+]?0_*(?:[xX][0-9a-fA-F_]*[0-9a-fA-F]|[bB][01_]*[01]|[oO]?[0-7_]*[0-7])$/, prefixed),
  tag(
    'float',
    /^[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?$/,
    (text) => finite(Number(text.replaceAll('_', '')), text),
    (value) => typeof value === 'number',
  ),
]

/** Whether helm, which holds every number as a float64, would change this whole number. */
export function helmRounds(value: bigint): boolean {
  return helmNumber(value) !== value
}

/** A whole number as helm hands it to a chart. */
export function helmNumber(value: bigint): bigint {
  return BigInt(Number(value))
}
