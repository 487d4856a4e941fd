import { Document, Scalar } from 'yaml'
import { HELM_SCHEMA } from './yamlDocument'
import type { Value } from './value'

const STRINGIFY = { lineWidth: 0, indent: 2 } as const

/** How a text was written, so that a new one is written alike. */
export type Quoting = Scalar.Type | undefined

function nodeFor(value: Value, quoting: Quoting): unknown {
  if (typeof value !== 'string' || !quoting) return value
  const scalar = new Scalar(value)
  scalar.type = quoting
  return scalar
}

function shift(text: string, columns: number): string {
  return text.replace(/\n(?=[^\n])/g, `\n${' '.repeat(columns)}`)
}

/** What stands after `key:`, with its leading space or line break, without a line break at its end. */
export function afterKey(value: Value, columns: number, quoting?: Quoting): string {
  const text = new Document({ k: nodeFor(value, quoting) }, HELM_SCHEMA).toString(STRINGIFY)
  return shift(text.slice(2).replace(/\n$/, ''), columns)
}

/** What stands after the `- ` of an item of a list. */
export function afterDash(value: Value, columns: number, quoting?: Quoting): string {
  const text = new Document([nodeFor(value, quoting)], HELM_SCHEMA).toString(STRINGIFY)
  return shift(text.slice(2).replace(/\n$/, ''), columns)
}

/** A value on one line, as inside of `{}` and `[]`. */
export function inFlow(value: Value): string {
  const document = new Document(value, HELM_SCHEMA)
  const text = document.toString({
    ...STRINGIFY,
    collectionStyle: 'flow',
    flowCollectionPadding: false,
    blockQuote: false,
  })
  const line = text.replace(/\n$/, '')
  return line.includes('\n') || /[,[\]{}]/.test(typeof value === 'string' ? value : '') ? flowJson(value) : line
}

/** JSON is YAML too; big integers stand as digits. */
function flowJson(value: Value): string {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${value.map(flowJson).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}: ${flowJson(inner)}`)
    return `{${members.join(', ')}}`
  }
  return JSON.stringify(value)
}

/** A key as it stands before the colon. */
export function keyAsYaml(key: string): string {
  const text = new Document({ [key]: 1 }, HELM_SCHEMA).toString(STRINGIFY)
  const plain = text.replace(/: 1\n$/, '')
  return text.startsWith('?') || plain.includes('\n') ? JSON.stringify(key) : plain
}

export function stringifyYaml(value: Value): string {
  return new Document(value, HELM_SCHEMA).toString(STRINGIFY)
}
