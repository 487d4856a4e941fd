/** Keys of a values file that the chart does not have, mostly misspelt ones: helm accepts them without a word. */
import { isObject, member, pathText, type Path, type Value } from './value'
import { entriesOf, positionAt, type YamlProblem, type YamlText } from './yamlDocument'

export interface ChartKeys {
  defaults: Value
  /** The values schema of the chart, if it has one. */
  schema: Value | null
  /** Names and aliases of the subcharts, whose values stand below them. */
  dependencies: readonly string[]
}

const DISTANCE_MAX = 2

export function unknownKeys(parsed: YamlText, chart: ChartKeys): YamlProblem[] {
  // Without defaults and schema nothing is known, so nothing is unknown.
  if (isEmpty(chart.defaults) && schemaKeys(chart.schema, []) === null) return []
  const reported = new Set<string>()
  return entriesOf(parsed).flatMap((entry) => {
    const parent = entry.path.slice(0, -1)
    const key = entry.path.at(-1)
    if (typeof key !== 'string' || reported.has(pathText(parent))) return []
    const known = knownKeys(chart, parent)
    if (known === null || known.has(key)) return []
    reported.add(pathText(entry.path))
    const path = pathText(entry.path)
    const near = nearest(key, known)
    const hint = near === null ? '' : `: ${pathText([...parent, near])}?`
    const from = entry.from
    const to = entry.node === null ? entry.to : entry.from + key.length
    return [{ ...positionAt(parsed.lines, from), from, to, message: `${path} is no value of this chart${hint}` }]
  })
}

/** Null where anything may stand: below lists, below objects that are empty in the chart, in subcharts. */
function knownKeys(chart: ChartKeys, parent: Path): Set<string> | null {
  if (parent.some((key) => typeof key === 'number')) return null
  const [root] = parent
  if (root === 'global') return null
  const fromSchema = schemaKeys(chart.schema, parent)
  const inner = parent.reduce<Value | undefined>((value, key) => member(value, key), chart.defaults)
  const isSubchart = root !== undefined && chart.dependencies.includes(String(root))
  if (isSubchart || !isObject(inner) || (parent.length > 0 && isEmpty(inner))) return fromSchema
  const known = new Set([...Object.keys(inner), ...(fromSchema ?? [])])
  if (isOpen(schemaAt(chart.schema, parent))) return null
  if (parent.length > 0) return known
  return new Set([...known, 'global', 'tags', ...chart.dependencies])
}

function isEmpty(value: Value): boolean {
  return !isObject(value) || Object.keys(value).length === 0
}

function schemaAt(schema: Value | null, path: Path): Value | undefined {
  return path.reduce<Value | undefined>((inner, key) => member(member(inner, 'properties'), key), schema ?? undefined)
}

function schemaKeys(schema: Value | null, path: Path): Set<string> | null {
  const properties = member(schemaAt(schema, path), 'properties')
  return isObject(properties) ? new Set(Object.keys(properties)) : null
}

/** Whether the schema says outright that other keys are welcome. */
function isOpen(schema: Value | undefined): boolean {
  const additional = member(schema, 'additionalProperties')
  return additional === true || isObject(additional) || isObject(member(schema, 'patternProperties'))
}

function nearest(key: string, known: ReadonlySet<string>): string | null {
  let best: string | null = null
  let bestDistance = Math.min(DISTANCE_MAX, Math.floor(key.length / 2)) + 1
  for (const candidate of known) {
    const distance = candidate.toLowerCase() === key.toLowerCase() ? 0 : editDistance(key, candidate, bestDistance)
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}

/** Insertions, deletions, replacements and swaps of neighbours; `limit` or more is not told apart. */
function editDistance(one: string, other: string, limit: number): number {
  if (Math.abs(one.length - other.length) >= limit) return limit
  let before: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= other.length; j += 1) {
      const same = one[i - 1] === other[j - 1]
      let cost = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1))
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) {
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1)
      }
      next.push(cost)
    }
    before = row
    row = next
  }
  return row[other.length] ?? limit
}
