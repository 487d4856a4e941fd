import { mergeValues } from './mergeValues'
import { layersFromTexts, lineOrigins, type LineOrigin } from './origins'
import { helmNumber } from './scalars'
import { isObject, setMember, type Value, type ValueObject } from './value'
import { parseYaml, roundedIntegers } from './yamlDocument'
import { stringifyYaml } from './yamlText'

export interface MergedText {
  text: string
  origins: LineOrigin[]
  /** Lines, from 1, with a whole number that helm rounds, and what was written. */
  rounded: ReadonlyMap<number, string>
  /** Layers that are not visible, so that their values are missing in the text. */
  hidden: string[]
}

/** What helm gets: the layers merged, low to high, with the origin of each line. */
export function resultText(layers: readonly { from: string; text: string | null }[]): MergedText {
  const known = layersFromTexts(layers)
  const merged = layers.reduce((below, { text }) => mergeValues(below, parseYaml(text ?? '').values), {})
  const isEmpty = Object.keys(merged).length === 0
  // Other digits are on the same lines.
  const exact = isEmpty ? '' : stringifyYaml(merged)
  const written = roundedIntegers(parseYaml(exact))
  const text = (written.length === 0 ? exact : stringifyYaml(asHelmRounds(merged))).trimEnd()
  return {
    text,
    origins: lineOrigins(text, known),
    rounded: new Map(written.map(({ line, from, to }) => [line, exact.slice(from, to)])),
    hidden: layers.filter((layer) => layer.text === null).map(({ from }) => from),
  }
}

function asHelmRounds(values: ValueObject): ValueObject {
  const result: ValueObject = {}
  for (const [key, value] of Object.entries(values)) setMember(result, key, rounded(value))
  return result
}

function rounded(value: Value): Value {
  if (typeof value === 'bigint') return helmNumber(value)
  if (Array.isArray(value)) return value.map(rounded)
  return isObject(value) ? asHelmRounds(value) : value
}
