/** Everything that can be said about a values file without asking the gateway. */
import { checkSchema } from '~/lib/schema/checkSchema'

import { placeOf } from './fieldLine'
import { MASK } from './mask'
import { unknownKeys } from './unknownKeys'
import { mergeValues } from './mergeValues'
import { pathText, valueAt, type Value } from './value'
import { entriesOf, parseYaml, roundedIntegers, type YamlProblem } from './yamlDocument'

export interface ChartFacts {
  /** `values.yaml` of the chart; empty if it is not known. */
  defaultsText: string
  /** `values.schema.json` of the chart. */
  schemaText: string | null
  /** Names and aliases of the subcharts. */
  dependencies: readonly string[]
}

export interface MarkedProblem extends YamlProblem {
  severity: 'error' | 'warning'
  /** The value concerned, such as `image.tag`; null if it is the text as a whole. */
  path: string | null
}

/** `unchecked` says why the schema could not be applied. */
export interface SchemaResult {
  problems: MarkedProblem[]
  unchecked: string | null
}

/** What is wrong with the text itself, and what the chart does not know. Runs no regular expression of others. */
export function checkValues(text: string, chart: ChartFacts): MarkedProblem[] {
  const parsed = parseYaml(text)
  const errors = parsed.problems.map((problem): MarkedProblem => ({ ...problem, severity: 'error', path: null }))
  if (errors.length > 0) return errors
  const facts = {
    defaults: parseYaml(chart.defaultsText).values,
    schema: schemaOf(chart),
    dependencies: chart.dependencies,
  }
  const warnings = [...roundedIntegers(parsed), ...unknownKeys(parsed, facts)]
  return warnings.map((problem) => ({ ...problem, severity: 'warning', path: null }))
}

/** Checks the values, merged with the defaults as helm does it, against the schema. Can take forever. */
export function checkValuesSchema(text: string, chart: ChartFacts): SchemaResult {
  const schema = schemaOf(chart)
  const parsed = parseYaml(text)
  if (schema === null || parsed.problems.length > 0) return { problems: [], unchecked: null }
  const merged = mergeValues(parseYaml(chart.defaultsText).values, parsed.values)
  const check = checkSchema(merged, schema)
  if (!check.checked) return { problems: [], unchecked: check.reason }
  const entries = entriesOf(parsed)
  const shown = check.problems.filter(({ path }) => !isMasked(valueAt(merged, path)))
  const problems = shown.map(({ path, message }): MarkedProblem => {
    const label = `${path.length === 0 ? 'The values' : pathText(path)} ${message}`
    return { ...placeOf(parsed, path, label, entries), severity: 'error', path: pathText(path) }
  })
  return { problems, unchecked: null }
}

/** What the gateway refused and the page has not found by itself: what is wrong with a value is listed once. */
export function notFoundHere(refused: readonly MarkedProblem[], found: readonly MarkedProblem[]): MarkedProblem[] {
  const errors = found.filter(({ severity }) => severity === 'error')
  return refused.filter(
    ({ path, line }) => !errors.some((error) => (error.path === null ? error.line === line : error.path === path)),
  )
}

function isMasked(value: Value | undefined): boolean {
  return typeof value === 'string' && value.includes(MASK)
}

/** The schema of the chart; null if it has none that can be read. */
export function schemaOf({ schemaText }: ChartFacts): Value | null {
  if (schemaText === null) return null
  try {
    return JSON.parse(schemaText) as Value
  } catch {
    return null
  }
}
