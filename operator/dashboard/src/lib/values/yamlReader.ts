/**
 * What the nodes of a YAML text mean to helm, within bounds: aliases and merge keys make a small text unfold to more
 * than any memory holds.
 */
import { isAlias, isMap, isScalar, isSeq, type Alias, type Document, type ParsedNode, type YAMLMap } from 'yaml'

import { setMember, type Value, type ValueObject } from './value'

export interface NodeProblem {
  /** Offsets of the text concerned. */
  from: number
  to: number
  message: string
}

/** As the gateway: what aliases and merge keys repeat counts again. */
const NODES_MAX = 100_000
const DEPTH_MAX = 100
/** Of the texts that aliases and merge keys repeat. */
const REPEATED_CHARACTERS_MAX = 4 * 1024 * 1024

export const TOO_DEEP = `The values are nested more than ${String(DEPTH_MAX)} levels deep. Flatten them.`

/** The text of a key: `8080: x` is "8080", `on: x` is "true". */
export function keyText(key: unknown): string {
  if (isScalar(key)) return typeof key.value === 'string' ? key.value : String(key.value)
  return typeof key === 'string' ? key : ''
}

export function isMergeKey(key: unknown): boolean {
  return isScalar(key) && (key.value === '<<' || (typeof key.value === 'symbol' && key.value.description === '<<'))
}

export interface NodeScan {
  /** What each alias stands for. */
  targets: Map<Alias, unknown>
  problems: NodeProblem[]
  isTooDeep: boolean
}

/** Looks at each node once, aliases not followed: the library takes a time for this that grows with the square. */
export function scanNodes(document: Document.Parsed): NodeScan {
  const scan: NodeScan = { targets: new Map(), problems: [], isTooDeep: false }
  const anchors = new Map<string, unknown>()
  const visit = (node: unknown, depth: number): void => {
    if (isAlias(node)) {
      const target = anchors.get(node.source)
      if (target === undefined) scan.problems.push(problemAt(node, `No anchor \`&${node.source}\` stands before this.`))
      else scan.targets.set(node, target)
      return
    }
    if (hasAnchor(node)) anchors.set(node.anchor, node)
    if (!isMap(node) && !isSeq(node)) return
    if (depth >= DEPTH_MAX) {
      if (!scan.isTooDeep) scan.problems.push(problemAt(node, TOO_DEEP))
      scan.isTooDeep = true
      return
    }
    if (isSeq(node)) {
      for (const item of node.items) visit(item, depth + 1)
      return
    }
    const keys = new Set<string>()
    for (const { key, value } of node.items) {
      if (isScalar(key)) {
        const text = keyText(key)
        if (keys.has(text)) scan.problems.push(problemAt(key, 'This key is there twice. Give it once.'))
        keys.add(text)
      }
      visit(key, depth + 1)
      visit(value, depth + 1)
    }
  }
  visit(document.contents, 0)
  return scan
}

function hasAnchor(node: unknown): node is { anchor: string } {
  return (isScalar(node) || isMap(node) || isSeq(node)) && Boolean(node.anchor)
}

function problemAt(node: unknown, message: string): NodeProblem {
  const [from, to] = (node as ParsedNode | null)?.range ?? [0, 0]
  return { from, to: Math.max(to, from + 1), message }
}

/** Reads the values. What is beyond the bounds becomes null, and `refused` says why. */
export class ValuesReader {
  refused: NodeProblem | null = null
  private nodes = 0
  private repeatedCharacters = 0
  /** How many merge keys are being followed. */
  private merges = 0
  /** The outermost alias that is being followed: the part of the text that a problem is about. */
  private alias: Alias | null = null
  private readonly followed = new Set<unknown>()
  private readonly targets: Map<Alias, unknown>

  constructor(targets: Map<Alias, unknown>) {
    this.targets = targets
  }

  object(map: YAMLMap, depth: number): ValueObject {
    const result: ValueObject = {}
    for (const { key, value } of map.items) {
      if (isMergeKey(key)) this.mergeInto(result, value, depth + 1)
    }
    for (const { key, value } of map.items) {
      if (this.refused) break
      if (!isMergeKey(key)) setMember(result, this.text(keyText(key), key), this.value(value, depth + 1))
    }
    return result
  }

  private mergeInto(result: ValueObject, source: unknown, depth: number): void {
    this.merges += 1
    if (this.accepts(source, depth)) {
      this.follow(source, (node) => {
        if (isSeq(node)) for (const item of node.items) this.mergeInto(result, item, depth + 1)
        if (!isMap(node)) return
        for (const [key, value] of Object.entries(this.object(node, depth))) {
          if (!Object.hasOwn(result, key)) setMember(result, key, value)
        }
      })
    }
    this.merges -= 1
  }

  private value(source: unknown, depth: number): Value {
    let value: Value = null
    if (!this.accepts(source, depth)) return value
    this.follow(source, (node) => {
      if (isMap(node)) value = this.object(node, depth)
      else if (isSeq(node)) value = this.list(node.items, depth)
      else if (isScalar(node))
        value = typeof node.value === 'string' ? this.text(node.value, node) : (node.value as Value)
    })
    return value
  }

  private list(items: readonly unknown[], depth: number): Value[] {
    const result: Value[] = []
    for (const item of items) {
      if (this.refused) break
      result.push(this.value(item, depth + 1))
    }
    return result
  }

  private text(text: string, node: unknown): string {
    if (this.alias) this.repeatedCharacters += text.length
    if (this.repeatedCharacters > REPEATED_CHARACTERS_MAX)
      this.refuse(node, `Aliases unfold to more than ${String(REPEATED_CHARACTERS_MAX)} characters. Use fewer of them.`)
    return text
  }

  private follow(source: unknown, read: (node: unknown) => void): void {
    if (!isAlias(source)) {
      read(source)
      return
    }
    const target = this.targets.get(source)
    if (this.followed.has(target)) {
      this.refuse(source, `\`*${source.source}\` stands inside of what it names. Name something else.`)
      return
    }
    const { alias } = this
    this.alias ??= source
    this.followed.add(target)
    read(target)
    this.followed.delete(target)
    this.alias = alias
  }

  private accepts(source: unknown, depth: number): boolean {
    this.nodes += 1
    if (depth > DEPTH_MAX) this.refuse(source, TOO_DEEP)
    else if (this.nodes > NODES_MAX)
      this.refuse(
        source,
        this.merges > 0
          ? `Merge keys unfold to more than ${String(NODES_MAX)} values. Use fewer of them.`
          : `The values have more than ${String(NODES_MAX)} entries. Make them fewer.`,
      )
    return this.refused === null
  }

  private refuse(node: unknown, message: string): void {
    this.refused ??= problemAt(this.alias ?? node, message)
  }
}
