/** Values of a chart as the pages hold them: JSON, and whole numbers beyond 2^53 as `bigint`. */
export type Value = string | number | bigint | boolean | null | Value[] | ValueObject

/** An object of values. Keys come from users: read it with `member`, never by a bare `in`. */
export interface ValueObject {
  [key: string]: Value
}

/** Where a value is: keys of objects and indexes of lists, from the root. */
export type Path = readonly (string | number)[]

export function isObject(value: unknown): value is ValueObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The own member of an object, never one of its prototype. */
export function member(value: Value | undefined, key: string | number): Value | undefined {
  if (Array.isArray(value)) return typeof key === 'number' ? value[key] : undefined
  return isObject(value) && Object.hasOwn(value, key) ? value[String(key)] : undefined
}

export function valueAt(value: Value | undefined, path: Path): Value | undefined {
  return path.reduce<Value | undefined>((inner, key) => member(inner, key), value)
}

/** Sets an own member, also one named `__proto__`. */
export function setMember(target: ValueObject, key: string, value: Value): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
}

export function sameValue(one: Value | undefined, other: Value | undefined): boolean {
  if (one === other) return true
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => sameValue(item, other[index]))
  }
  if (!isObject(one) || !isObject(other)) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && sameValue(one[key], other[key]))
  )
}

const PLAIN_KEY = /^[^.[\]\s"]+$/

/** The path as errors of the API write it: `image.tag`, `hosts[0].name`, `annotations["a.b/c"]`. */
export function pathText(path: Path): string {
  return path
    .map((key, index) => {
      if (typeof key === 'number') return `[${String(key)}]`
      if (!PLAIN_KEY.test(key)) return `[${JSON.stringify(key)}]`
      return index === 0 ? key : `.${key}`
    })
    .join('')
}

/** The path of a JSON pointer, as checks of schemas name it. A number stays a text: `resolvePath` finds which it is. */
export function pathOfPointer(pointer: string): string[] {
  const inner = pointer.startsWith('#') ? pointer.slice(1) : pointer
  if (inner === '') return []
  return inner
    .slice(1)
    .split('/')
    .map((part) => safeDecode(part).replaceAll('~1', '/').replaceAll('~0', '~'))
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Turns the keys of a pointer into indexes where the values have a list. */
export function resolvePath(value: Value | undefined, keys: readonly string[]): Path {
  let inner = value
  return keys.map((key) => {
    const resolved = Array.isArray(inner) && /^\d+$/.test(key) ? Number(key) : key
    inner = member(inner, resolved)
    return resolved
  })
}

/** The path that an error of the API names: `values.image.tag`, `values.hosts[0]`, `values["a.b"].c`. */
export function parsePathText(text: string): Path | null {
  const path: (string | number)[] = []
  const part = /\.?([^.[\]\s"]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y
  while (part.lastIndex < text.length) {
    const match = part.exec(text)
    if (!match) return null
    if (match[2] !== undefined) path.push(Number(match[2]))
    else if (match[3] !== undefined) path.push(JSON.parse(match[3]) as string)
    else if (match[1] !== undefined) path.push(match[1])
  }
  return path
}
