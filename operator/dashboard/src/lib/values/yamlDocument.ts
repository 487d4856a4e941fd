import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type ParsedNode,
  type SchemaOptions,
} from 'yaml'
import { HELM_SCALARS, helmNumber, helmRounds } from './scalars'
import { pathText, type Path, type ValueObject } from './value'
import { isMergeKey, keyText, scanNodes, TOO_DEEP, ValuesReader } from './yamlReader'

export interface Position {
  /** From 1. */
  line: number
  /** From 1. */
  column: number
}

export interface YamlProblem extends Position {
  /** Offsets of the text concerned. */
  from: number
  to: number
  message: string
}

export interface YamlText {
  text: string
  document: Document.Parsed
  lines: LineCounter
  /** What is wrong with the syntax; the values are then those of the part that could be read. */
  problems: YamlProblem[]
  values: ValueObject
}

/** The options of the library under which a text means what it means to helm. */
export const HELM_SCHEMA: SchemaOptions = {
  schema: 'failsafe',
  customTags: (tags) => [...tags, ...HELM_SCALARS],
  merge: true,
}

/** More of them help nobody, and would take long to show. */
const PROBLEMS_MAX = 100

const OVERFLOW = 'The text is nested too deeply to be read. Flatten it.'

/** Reads a values file as helm reads it, and keeps where everything stands. Never throws. */
export function parseYaml(text: string): YamlText {
  try {
    return parsedYaml(text)
  } catch {
    // The parser of the library recurses without a bound.
    return withoutEntries(text, new LineCounter(), [{ line: 1, column: 1, from: 0, to: 1, message: OVERFLOW }])
  }
}

function parsedYaml(text: string): YamlText {
  const lines = new LineCounter()
  const document = parsed(text, lines)
  const found = document.errors.map(({ pos: [from, to], message }) => ({
    from,
    to: Math.max(to, from + 1),
    message: plainMessage(message),
  }))
  const { targets, problems: inNodes, isTooDeep } = scanNodes(document)
  found.push(...inNodes.slice(0, PROBLEMS_MAX))
  let values: ValueObject = {}
  const root = document.contents
  if (isMap(root) && !isTooDeep) {
    const reader = new ValuesReader(targets)
    values = reader.object(root, 0)
    if (reader.refused) found.push(reader.refused)
  } else if (root !== null && !isMap(root) && !(isScalar(root) && root.value === null)) {
    const [from, to] = root.range
    found.push({ from, to, message: 'Values must be an object, lines of `key: value`.' })
  }
  const problems = (isTooDeep ? inNodes.filter(({ message }) => message === TOO_DEEP) : found)
    .sort((one, other) => one.from - other.from)
    .slice(0, PROBLEMS_MAX)
    .map((problem) => ({ ...positionAt(lines, problem.from), ...problem }))
  return isTooDeep ? withoutEntries(text, lines, problems) : { text, document, lines, problems, values }
}

function parsed(text: string, lines: LineCounter): Document.Parsed {
  return parseDocument(text, {
    ...HELM_SCHEMA,
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
    // It compares each key with each other one; `scanNodes` finds the same.
    uniqueKeys: false,
  })
}

/** For a text whose nodes nobody may walk through: that would overflow the stack. */
function withoutEntries(text: string, lines: LineCounter, problems: YamlProblem[]): YamlText {
  return { text, document: parsed('', new LineCounter()), lines, problems, values: {} }
}

export function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset)
  return { line: Math.max(line, 1), column: Math.max(col, 1) }
}

function plainMessage(message: string): string {
  if (message.includes('call stack')) return OVERFLOW
  if (message.includes('multiple documents')) return 'A second document begins. Put all values into one document.'
  return /[.!?]$/.test(message) ? message : `${message}.`
}

export interface Entry {
  path: Path
  /** Where the key begins; of an item of a list, the item. */
  from: number
  /** Where the value ends. */
  to: number
  /** The first character of the value; equal to `to` when there is none. */
  valueFrom: number
  node: ParsedNode | null
}

/** Every key and item of the text in its order, those inside of aliases left out. */
export function entriesOf(parsed: YamlText): Entry[] {
  const entries: Entry[] = []
  const visit = (node: unknown, path: Path): void => {
    if (isMap(node)) {
      for (const pair of node.items) {
        const key = pair.key as ParsedNode
        if (isMergeKey(key)) continue
        entries.push(entryOf([...path, keyText(key)], key.range[0], key.range[1], pair.value as ParsedNode | null))
        visit(pair.value, [...path, keyText(key)])
      }
    } else if (isSeq(node)) {
      node.items.forEach((item, index) => {
        const value = item as ParsedNode
        entries.push(entryOf([...path, index], value.range[0], value.range[0], value))
        visit(item, [...path, index])
      })
    }
  }
  visit(parsed.document.contents, [])
  return entries
}

function entryOf(path: Path, from: number, keyEnd: number, node: ParsedNode | null): Entry {
  return { path, from, to: node ? node.range[1] : keyEnd, valueFrom: node ? node.range[0] : keyEnd, node }
}

/** The entry at a path, or of the nearest parent that the text has. Null for the root. */
export function nearestEntry(entries: readonly Entry[], path: Path): Entry | null {
  let best: Entry | null = null
  for (const entry of entries) {
    const fits =
      entry.path.length <= path.length && entry.path.every((key, index) => String(key) === String(path[index]))
    if (fits && (best === null || entry.path.length > best.path.length)) best = entry
  }
  return best
}

/** Whole numbers that helm would round, because it holds every number as a float64. */
export function roundedIntegers(parsed: YamlText): YamlProblem[] {
  return entriesOf(parsed).flatMap(({ node, path }) => {
    if (!node || !isScalar(node) || typeof node.value !== 'bigint' || !helmRounds(node.value)) return []
    const [from, to] = node.range
    const message = `${pathText(path)}: helm rounds ${String(node.value)} to ${String(helmNumber(node.value))}. Write it in quotes if the chart accepts text.`
    return [{ ...positionAt(parsed.lines, from), from, to, message }]
  })
}
