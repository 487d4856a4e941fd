/** Parameters of a request. Null, undefined and empty texts are left out; a list repeats the name. */
export type Query = Readonly<Record<string, QueryValue | readonly QueryValue[] | null | undefined>>
type QueryValue = string | number | boolean

/** Returns `?a=1&b=2`, or an empty text. */
export function queryText(query: Query): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    const values = typeof value === 'object' && value !== null ? value : [value]
    for (const each of values) {
      if (each !== null && each !== undefined && each !== '') params.append(name, String(each))
    }
  }
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}

/** Returns a path with each segment encoded. */
export function apiPath(...segments: readonly string[]): string {
  return `/${segments.map(encodeURIComponent).join('/')}`
}

/** Whether a name can be one segment of a path: browsers and servers would read the others as a path of their own. */
export function isPathSegment(name: string): boolean {
  return !/^(?:|\.|\.\.)$|[/\\]/.test(name)
}
