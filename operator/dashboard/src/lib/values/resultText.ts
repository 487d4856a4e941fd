import { mergeValues } from './mergeValues'
import { layersFromTexts, lineOrigins, type LineOrigin } from './origins'
import { parseYaml } from './yamlDocument'
import { stringifyYaml } from './yamlText'

export interface MergedText {
  text: string
  origins: LineOrigin[]
  /** Layers that are not visible, so that their values are missing in the text. */
  hidden: string[]
}

/** What helm gets: the layers merged, low to high, with the origin of each line. */
export function resultText(layers: readonly { from: string; text: string | null }[]): MergedText {
  const known = layersFromTexts(layers)
  const merged = layers.reduce((below, { text }) => mergeValues(below, parseYaml(text ?? '').values), {})
  const text = Object.keys(merged).length === 0 ? '' : stringifyYaml(merged).trimEnd()
  return {
    text,
    origins: lineOrigins(text, known),
    hidden: layers.filter((layer) => layer.text === null).map(({ from }) => from),
  }
}
