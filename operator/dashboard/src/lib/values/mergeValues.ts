import { isObject, setMember, type Value, type ValueObject } from './value'

/** Merges as `helm -f` does it: objects merge, anything else replaces, null takes the key away. */
export function mergeValues(below: ValueObject, above: ValueObject): ValueObject {
  const result: ValueObject = {}
  for (const [key, value] of Object.entries(below)) setMember(result, key, value)
  for (const [key, value] of Object.entries(above)) {
    const lower = Object.hasOwn(result, key) ? result[key] : undefined
    if (value === null) Reflect.deleteProperty(result, key)
    else setMember(result, key, isObject(value) ? mergeValues(isObject(lower) ? lower : {}, value) : value)
  }
  return result
}

/** A JSON object as values: whole numbers stay what JSON.parse made of them. */
export function asValues(value: unknown): Value {
  return (value ?? null) as Value
}
