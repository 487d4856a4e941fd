/** Where the values of a result come from: for each line the layer that had the last word. */
import { isMap } from 'yaml'

import { isObject, member, pathText, type Path, type Value } from './value'
import { entriesOf, parseYaml, positionAt } from './yamlDocument'

/** One of the layers that helm merges, low to high. `values` is null where they are not visible. */
export interface Layer {
  /** `chart`, `address`, `Secret/<name>`, `ConfigMap/<name>` or `yours`. */
  from: string
  values: Value | null
}

export interface LineOrigin {
  /** From 1. */
  line: number
  from: string
  path: string
}

export function layersFromTexts(layers: readonly { from: string; text: string | null }[]): Layer[] {
  return layers.map(({ from, text }) => ({ from, values: text === null ? null : parseYaml(text).values }))
}

/** The layer that sets the value at a path; null if none that is visible does. */
export function originOf(layers: readonly Layer[], path: Path): string | null {
  let origin: string | null = null
  for (const { from, values } of layers) {
    const reached = reach(values, path)
    if (reached === 'none') continue
    origin = from
  }
  return origin
}

/** `none`: the layer says nothing about the path. Otherwise it sets the value, or replaces it from above. */
function reach(values: Value | null, path: Path): 'none' | 'sets' {
  let inner: Value | undefined = values ?? undefined
  for (const key of path) {
    if (Array.isArray(inner)) return 'sets' // A list is replaced as a whole.
    if (!isObject(inner)) return inner === undefined ? 'none' : 'sets'
    inner = member(inner, key)
  }
  return inner === undefined ? 'none' : 'sets'
}

/** The origins of the lines of `text`, which is the merged result. Lines without a value of their own have none. */
export function lineOrigins(text: string, layers: readonly Layer[]): LineOrigin[] {
  const parsed = parseYaml(text)
  const origins = new Map<number, LineOrigin>()
  for (const entry of entriesOf(parsed)) {
    // The lines of an object have origins of their own.
    if (isMap(entry.node) && entry.node.items.length > 0 && entry.node.flow !== true) continue
    const { line } = positionAt(parsed.lines, entry.from)
    const from = originOf(layers, entry.path)
    // The last entry of a line is the innermost one: `- name: a` is about the name.
    if (from !== null) origins.set(line, { line, from, path: pathText(entry.path) })
  }
  return [...origins.values()]
}
