/**
 * What a form of a schema costs. The form library unfolds references wherever they stand, so a small schema can take
 * for ever.
 */
import { isObject, member, type Value, type ValueObject } from '~/lib/values/value'

import { schemaOfReference } from './formSchema'

/** Each schema counts with its depth, because the library unfolds it again at each level above it. */
const COST_MAX = 20_000
const DEPTH_MAX = 60

export const TOO_LARGE = 'This schema is too large for a form: edit the YAML.'

/** Whether a form of these values would be slow. The schema is one that `formSchema` made. */
export function isTooLarge(root: ValueObject, values: Value): boolean {
  let cost = 0

  /** `unfolded`: the references on the way from the last schema that has a value, where the library stops. */
  function visit(
    schema: Value | undefined,
    value: Value | undefined,
    depth: number,
    unfolded: readonly string[],
  ): void {
    if (!isObject(schema) || cost > COST_MAX) return
    cost += depth > DEPTH_MAX ? COST_MAX : depth + 1
    const { $ref, properties, items, additionalItems, additionalProperties } = schema
    if (typeof $ref === 'string' && !unfolded.includes($ref))
      visit(schemaOfReference(root, $ref), value, depth + 1, [...unfolded, $ref])
    for (const branches of [schema.allOf, schema.anyOf, schema.oneOf]) {
      if (Array.isArray(branches)) for (const branch of branches) visit(branch, value, depth + 1, unfolded)
    }
    const below = (inner: Value | undefined, at: Value | undefined): void =>
      visit(inner, at, depth + 1, at === undefined ? unfolded : [])
    if (isObject(properties)) for (const [key, inner] of Object.entries(properties)) below(inner, member(value, key))
    if (isObject(value)) {
      for (const [key, inner] of Object.entries(value)) {
        if (!isObject(properties) || !Object.hasOwn(properties, key)) below(additionalProperties, inner)
      }
    } else below(additionalProperties, undefined)
    const listed = Array.isArray(value) ? value : [undefined]
    const tuple = Array.isArray(items) ? items : null
    listed.forEach((item, index) => below(tuple ? (tuple[index] ?? additionalItems) : items, item))
    if (tuple) for (const inner of tuple.slice(listed.length)) below(inner, undefined)
  }

  visit(root, values, 0, [])
  return cost > COST_MAX
}
