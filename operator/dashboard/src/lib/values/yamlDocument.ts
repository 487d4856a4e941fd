import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type ParsedNode,
  type SchemaOptions,
  type YAMLMap,
} from 'yaml'
import { HELM_SCALARS, helmRounds } from './scalars'
import { pathText, setMember, type Path, type Value, type ValueObject } from './value'

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

/** As the gateway: what aliases repeat counts again. */
const NODES_MAX = 100_000
const DEPTH_MAX = 100

/** Reads a values file as helm reads it, and keeps where everything stands. Never throws. */
export function parseYaml(text: string): YamlText {
  const lines = new LineCounter()
  const document = parseDocument(text, {
    ...HELM_SCHEMA,
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
    uniqueKeys: (one, other) =>
      isScalar(one) && isScalar(other) && one.value !== '<<' && keyText(one) === keyText(other),
  })
  const problems = document.errors.map((error): YamlProblem => {
    const [from, to] = error.pos
    return { ...positionAt(lines, from), from, to: Math.max(to, from + 1), message: plainMessage(error.message) }
  })
  const parsed: YamlText = { text, document, lines, problems, values: {} }
  readRoot(parsed)
  return parsed
}

export function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset)
  return { line: Math.max(line, 1), column: Math.max(col, 1) }
}

function plainMessage(message: string): string {
  if (message.includes('Map keys must be unique')) return 'This key is there twice. Give it once.'
  if (message.includes('multiple documents')) return 'A second document begins. Put all values into one document.'
  return /[.!?]$/.test(message) ? message : `${message}.`
}

function readRoot(parsed: YamlText): void {
  const { document, problems, lines } = parsed
  const root = document.contents
  if (root === null || (isScalar(root) && root.value === null)) return
  if (!isMap(root)) {
    const from = root.range[0]
    const message = 'Values must be an object, lines of `key: value`.'
    problems.push({ ...positionAt(lines, from), from, to: root.range[1], message })
    return
  }
  const reader = new Reader(document)
  parsed.values = reader.object(root, 0)
  if (reader.refused) {
    problems.push({ line: 1, column: 1, from: 0, to: 1, message: reader.refused })
  }
}

/** The text of a key: `8080: x` is "8080", `on: x` is "true". */
export function keyText(key: unknown): string {
  if (isScalar(key)) return typeof key.value === 'string' ? key.value : String(key.value)
  return typeof key === 'string' ? key : ''
}

class Reader {
  refused: string | null = null
  private nodes = 0
  private readonly document: Document.Parsed

  constructor(document: Document.Parsed) {
    this.document = document
  }

  object(map: YAMLMap, depth: number): ValueObject {
    const result: ValueObject = {}
    for (const pair of map.items) {
      if (isMergeKey(pair.key)) this.mergeInto(result, pair.value, depth)
    }
    for (const pair of map.items) {
      if (!isMergeKey(pair.key)) setMember(result, keyText(pair.key), this.value(pair.value, depth + 1))
    }
    return result
  }

  private mergeInto(result: ValueObject, source: unknown, depth: number): void {
    const node = this.resolve(source)
    if (isSeq(node)) for (const item of node.items) this.mergeInto(result, item, depth)
    if (!isMap(node)) return
    for (const [key, value] of Object.entries(this.object(node, depth + 1))) {
      if (!Object.hasOwn(result, key)) setMember(result, key, value)
    }
  }

  private value(source: unknown, depth: number): Value {
    this.nodes += 1
    if (this.nodes > NODES_MAX || depth > DEPTH_MAX) {
      this.refused =
        depth > DEPTH_MAX
          ? `The values are nested more than ${String(DEPTH_MAX)} levels deep. Flatten them.`
          : `The values have more than ${String(NODES_MAX)} entries. Make them fewer.`
      return null
    }
    const node = this.resolve(source)
    if (isMap(node)) return this.object(node, depth)
    if (isSeq(node)) return node.items.map((item) => this.value(item, depth + 1))
    return isScalar(node) ? (node.value as Value) : null
  }

  private resolve(node: unknown): unknown {
    return isAlias(node) ? node.resolve(this.document) : node
  }
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && (key.value === '<<' || (typeof key.value === 'symbol' && key.value.description === '<<'))
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
    const message = `${pathText(path)}: helm rounds ${String(node.value)} to ${String(BigInt(Number(node.value)))}. Write it in quotes if the chart accepts text.`
    return [{ ...positionAt(parsed.lines, from), from, to, message }]
  })
}
