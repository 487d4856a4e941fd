/**
 * Changes of single values in the text of a values file. All else stays byte for byte: comments, order, notation.
 *
 * Each change is a splice of the text whose result is read again. If it does not mean what was asked for, the library
 * writes the document anew, which keeps comments and order, but not every blank.
 */
import { isAlias, isMap, isScalar, isSeq, type Pair, type ParsedNode, type YAMLMap, type YAMLSeq } from 'yaml'
import { isObject, member, sameValue, setMember, type Path, type Value, type ValueObject } from './value'
import { parseYaml, type YamlText } from './yamlDocument'
import { keyText } from './yamlReader'
import { afterDash, afterKey, inFlow, keyAsYaml } from './yamlText'

export type Edit = { kind: 'set'; path: Path; value: Value } | { kind: 'remove'; path: Path }

interface Splice {
  from: number
  to: number
  insert: string
}

/** Returns the new text, or null where the text cannot be edited: it has syntax errors. */
export function applyEdit(text: string, edit: Edit): string | null {
  const parsed = parseYaml(text)
  if (parsed.problems.length > 0) return null
  const expected =
    edit.kind === 'set' ? withValue(parsed.values, edit.path, edit.value) : withoutValue(parsed.values, edit.path)
  if (sameValue(expected, parsed.values)) return text
  const splice = edit.kind === 'set' ? spliceForSet(parsed, edit.path, edit.value) : spliceForRemove(parsed, edit.path)
  if (splice) {
    const result = text.slice(0, splice.from) + splice.insert + text.slice(splice.to)
    if (means(result, expected)) return result
  }
  return rewritten(parsed, edit, expected)
}

export function applyEdits(text: string, edits: readonly Edit[]): string | null {
  return edits.reduce<string | null>((current, edit) => (current === null ? null : applyEdit(current, edit)), text)
}

function means(text: string, expected: Value): boolean {
  const parsed = parseYaml(text)
  return parsed.problems.length === 0 && sameValue(parsed.values, expected)
}

function rewritten(parsed: YamlText, edit: Edit, expected: Value): string | null {
  const { document } = parsed
  try {
    if (edit.kind === 'set') document.setIn(edit.path, document.createNode(edit.value))
    else document.deleteIn(edit.path)
    const result = document.toString({ lineWidth: 0 })
    return means(result, expected) ? result : null
  } catch {
    return null
  }
}

/** The values with one more; what is no object on the way becomes one. */
export function withValue(values: Value | undefined, path: Path, value: Value): Value {
  const [key, ...rest] = path
  if (key === undefined) return value
  if (typeof key === 'number' && !isObject(values)) {
    const items = Array.isArray(values) ? [...values] : []
    items[key] = withValue(items[key], rest, value)
    return items
  }
  const copy: ValueObject = isObject(values) ? { ...values } : {}
  setMember(copy, String(key), withValue(member(copy, key), rest, value))
  return copy
}

/** The values without one; an object that this leaves empty goes too, except for an item of a list. */
export function withoutValue(values: Value, path: Path): Value {
  const [key, ...rest] = path
  const inner = key === undefined ? undefined : member(values, key)
  if (key === undefined || inner === undefined) return values
  const kept = rest.length > 0 ? withoutValue(inner, rest) : undefined
  const empty = isObject(kept) && Object.keys(kept).length === 0 && isObject(inner) && Object.keys(inner).length > 0
  if (Array.isArray(values)) {
    return kept === undefined
      ? values.filter((_, index) => index !== key)
      : values.map((item, index) => (index === key ? kept : item))
  }
  const copy = { ...(values as ValueObject) }
  if (kept === undefined || empty) Reflect.deleteProperty(copy, String(key))
  else setMember(copy, String(key), kept)
  return copy
}

interface Found {
  container: YAMLMap.Parsed | YAMLSeq.Parsed
  /** Place of the child in `items`. */
  index: number
  node: ParsedNode | null
}

function childOf(container: unknown, key: string | number): Found | null {
  if (isSeq(container)) {
    const index = Number(key)
    const seq = container as YAMLSeq.Parsed
    const node = seq.items[index]
    return node === undefined ? null : { container: seq, index, node }
  }
  if (!isMap(container)) return null
  const map = container as YAMLMap.Parsed
  const index = map.items.findIndex((pair) => keyText(pair.key) === String(key))
  const pair = map.items[index]
  return pair ? { container: map, index, node: pair.value } : null
}

/** The nodes along the path, as far as the text has them. */
function walk(parsed: YamlText, path: Path): Found[] {
  const found: Found[] = []
  let node: unknown = parsed.document.contents
  for (const key of path) {
    const child = childOf(node, key)
    if (!child) break
    found.push(child)
    node = child.node
  }
  return found
}

function spliceForSet(parsed: YamlText, path: Path, value: Value): Splice | null {
  const found = walk(parsed, path)
  const rest = path.slice(found.length)
  const last = found.at(-1)
  if (rest.length === 0) return last ? replaceChild(parsed, last, value) : null
  const wrapped = rest
    .slice(1)
    .reduceRight<Value>((inner, key) => (typeof key === 'number' ? [inner] : { [key]: inner }), value)
  const first = rest[0] ?? ''
  const container = last ? last.node : parsed.document.contents
  if (isMap(container) || (isSeq(container) && typeof first === 'number')) {
    const parsedContainer = container
    const inserted = insertChild(parsed, parsedContainer, first, wrapped, inFlowContext(found))
    if (inserted) return inserted
  }
  if (last) return replaceChild(parsed, last, typeof first === 'number' ? [wrapped] : { [first]: wrapped })
  if (isMap(container) && container.items.length > 0) return null
  const at = parsed.text.length
  const before = at === 0 || parsed.text.endsWith('\n') ? '' : '\n'
  return isMap(container)
    ? replaceNode(container.range, `${keyAsYaml(String(first))}:${afterKey(wrapped, 0)}`)
    : { from: at, to: at, insert: `${before}${keyAsYaml(String(first))}:${afterKey(wrapped, 0)}\n` }
}

function replaceNode(range: readonly [number, number, number], insert: string): Splice {
  return { from: range[0], to: range[1], insert }
}

function inFlowContext(found: readonly Found[]): boolean {
  return found.some(({ container }) => container.flow === true)
}

function columnOf(parsed: YamlText, offset: number): number {
  return offset - (parsed.text.lastIndexOf('\n', offset - 1) + 1)
}

function replaceChild(parsed: YamlText, child: Found, value: Value): Splice | null {
  const { container, index, node } = child
  const quoting = isScalar(node) && typeof node.value === 'string' ? node.type : undefined
  if (container.flow === true) {
    if (!node) return null
    return { from: node.range[0], to: endOf(node), insert: inFlow(value) }
  }
  if (isSeq(container)) {
    if (!node) return null
    const column = dashColumn(parsed, container)
    return { from: node.range[0], to: endOf(node), insert: afterDash(value, column, quoting) }
  }
  const pair = container.items[index]
  if (!pair) return null
  const column = columnOf(parsed, container.range[0])
  const simple = isScalar(node) && !isBlockScalar(node) && node.range[1] > node.range[0]
  const insert = afterKey(value, column, quoting)
  if (simple && !insert.startsWith('\n')) return { from: node.range[0], to: endOf(node), insert: insert.trimStart() }
  const colon = parsed.text.indexOf(':', pair.key.range[1])
  const empty = node === null || (isScalar(node) && node.range[1] === node.range[0])
  return colon < 0 ? null : { from: colon + 1, to: empty ? colon + 1 : endOf(node), insert }
}

function isBlockScalar(node: unknown): boolean {
  return isScalar(node) && (node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED')
}

/** Where the last value inside of the node ends, without the comments and the line break behind it. */
function endOf(node: ParsedNode | null): number {
  if (node === null) return 0
  if ((isMap(node) || isSeq(node)) && node.flow !== true) {
    const last = (node.items as (ParsedNode | Pair<ParsedNode, ParsedNode | null>)[]).at(-1)
    if (last === undefined) return node.range[1]
    if ('key' in last && !isScalar(last) && !isAlias(last)) return Math.max(endOf(last.value), last.key.range[1])
    return endOf(last as ParsedNode)
  }
  const [, end] = node.range
  return isBlockScalar(node) ? end - 1 : end
}

function insertChild(
  parsed: YamlText,
  container: YAMLMap.Parsed | YAMLSeq.Parsed,
  key: string | number,
  value: Value,
  nestedInFlow: boolean,
): Splice | null {
  const last = container.items.length - 1
  const child = (column: number): string =>
    isSeq(container) ? `- ${afterDash(value, column)}` : `${keyAsYaml(String(key))}:${afterKey(value, column)}`
  if (container.flow === true) {
    if (last < 0 && !nestedInFlow) return null
    const insert = isSeq(container) ? inFlow(value) : `${keyAsYaml(String(key))}: ${inFlow(value)}`
    const at = last < 0 ? container.range[0] + 1 : endOfItem(parsed, container, last)
    return { from: at, to: at, insert: last < 0 ? insert : `, ${insert}` }
  }
  if (last < 0) return null
  const column = isSeq(container) ? dashColumn(parsed, container) : columnOf(parsed, container.range[0])
  const at = endOfLine(parsed.text, endOfItem(parsed, container, last))
  return { from: at, to: at, insert: `\n${' '.repeat(column)}${child(column)}` }
}

function endOfItem(parsed: YamlText, container: YAMLMap.Parsed | YAMLSeq.Parsed, index: number): number {
  if (isSeq(container)) return endOf(container.items[index] ?? null)
  const pair = container.items[index]
  if (!pair) return container.range[0]
  const colon = parsed.text.indexOf(':', pair.key.range[1])
  return Math.max(endOf(pair.value), pair.key.range[1], pair.value === null || colon < 0 ? 0 : colon + 1)
}

function startOfItem(parsed: YamlText, container: YAMLMap.Parsed | YAMLSeq.Parsed, index: number): number {
  if (!isSeq(container)) return container.items[index]?.key.range[0] ?? 0
  const from = container.items[index]?.range[0] ?? 0
  return container.flow === true ? from : parsed.text.lastIndexOf('-', from - 1)
}

function dashColumn(parsed: YamlText, seq: YAMLSeq.Parsed): number {
  return columnOf(parsed, seq.range[0])
}

function endOfLine(text: string, offset: number): number {
  const end = text.indexOf('\n', offset)
  return end < 0 ? text.length : end
}

function spliceForRemove(parsed: YamlText, path: Path): Splice | null {
  const found = walk(parsed, path)
  if (found.length < path.length) return null
  let depth = found.length - 1
  // An object that would be left empty goes as a whole, up to an item of a list.
  while (
    depth > 0 &&
    isMap(found[depth]?.container) &&
    found[depth]?.container.items.length === 1 &&
    isMap(found[depth - 1]?.container)
  ) {
    depth -= 1
  }
  const child = found[depth]
  if (!child) return null
  const { container, index } = child
  if (container.items.length === 1) {
    if (depth === 0 && container.flow !== true) return lineOf(parsed, container, 0)
    return emptied(parsed, found[depth - 1], container)
  }
  if (container.flow === true) {
    return index === 0
      ? { from: startOfItem(parsed, container, 0), to: startOfItem(parsed, container, 1), insert: '' }
      : { from: endOfItem(parsed, container, index - 1), to: endOfItem(parsed, container, index), insert: '' }
  }
  return lineOf(parsed, container, index)
}

function emptied(
  parsed: YamlText,
  parent: Found | undefined,
  container: YAMLMap.Parsed | YAMLSeq.Parsed,
): Splice | null {
  const empty: Value = isSeq(container) ? [] : {}
  if (!parent) return replaceNode(container.range, '{}')
  return replaceChild(parsed, parent, empty)
}

/** The lines of an item in block style; of the first one behind a dash, only up to the next key. */
function lineOf(parsed: YamlText, container: YAMLMap.Parsed | YAMLSeq.Parsed, index: number): Splice | null {
  const from = startOfItem(parsed, container, index)
  const lineStart = parsed.text.lastIndexOf('\n', from - 1) + 1
  if (parsed.text.slice(lineStart, from).trim() !== '') {
    if (index + 1 >= container.items.length) return null
    return { from, to: startOfItem(parsed, container, index + 1), insert: '' }
  }
  const end = endOfLine(parsed.text, endOfItem(parsed, container, index))
  if (end >= parsed.text.length) return { from: Math.max(lineStart - 1, 0), to: end, insert: '' }
  return { from: lineStart, to: end + 1, insert: '' }
}
