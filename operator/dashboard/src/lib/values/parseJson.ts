/**
 * Parses JSON and keeps whole numbers beyond 2^53 as `bigint`, where the browser tells how a number was written.
 *
 * See the proposal "JSON.parse source text access", which current browsers have. Others round, as JSON.parse does.
 */
export function parseJson(text: string): unknown {
  const revive = (_: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
    const source = context?.source
    return source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value
  }
  return JSON.parse(text, revive) as unknown
}
