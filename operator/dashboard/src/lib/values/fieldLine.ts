/** Where an error of the API belongs: `values.image.tag` at its line of the values file. */
import { isScalar } from 'yaml'

import { parsePathText, type Path } from './value'
import {
  entriesOf,
  nearestEntry,
  parseYaml,
  positionAt,
  type Entry,
  type YamlProblem,
  type YamlText,
} from './yamlDocument'

export interface FieldError {
  field: string
  message: string
  line?: number | null
  column?: number | null
}

/** The path inside of the values; null if the field is not about values. */
export function valuesPath(field: string): Path | null {
  if (field === 'values') return []
  if (!/^values[.[]/.test(field)) return null
  return parsePathText(field.slice('values'.length).replace(/^\./, ''))
}

export function isAboutValues(field: string): boolean {
  return field === 'values' || /^values[.[]/.test(field)
}

/** The part of the text to mark for a path; the key, or the nearest parent that is there. */
export function placeOf(
  parsed: YamlText,
  path: Path,
  message: string,
  entries: readonly Entry[] = entriesOf(parsed),
): YamlProblem {
  const entry = nearestEntry(entries, path)
  if (!entry) return { line: 1, column: 1, from: 0, to: 0, message }
  const from = entry.path.length === path.length && isScalar(entry.node) ? entry.valueFrom : entry.from
  const to = Math.max(from === entry.valueFrom ? entry.to : entry.from + String(entry.path.at(-1)).length, from)
  return { ...positionAt(parsed.lines, from), from, to, message }
}

/** Errors of the API about values, each at its line; `line` of the answer counts, or else the path. */
export function valuesProblems(text: string, errors: readonly FieldError[]): YamlProblem[] {
  const about = errors.filter(({ field }) => isAboutValues(field))
  if (about.length === 0) return []
  const parsed = parseYaml(text)
  const entries = entriesOf(parsed)
  const starts = lineStarts(text)
  return about.map(({ field, message, line, column }) => {
    const label = field === 'values' ? message : `${field.slice('values'.length).replace(/^\./, '')} ${message}`
    const start = line ? starts[line - 1] : undefined
    if (line && start !== undefined) {
      const end = (starts[line] ?? text.length + 1) - 1
      const from = Math.min(start + Math.max((column ?? 1) - 1, 0), end)
      return { line, column: column ?? 1, from, to: end, message: label }
    }
    return placeOf(parsed, valuesPath(field) ?? [], label, entries)
  })
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}
