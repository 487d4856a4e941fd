import { curlCommand } from '~/lib/commands'
import { withPlaceholders } from '~/lib/deploy/secretPlaceholders'
import { formatJson, jsonProblem } from '~/lib/formatJson'
import { parseJson } from '~/lib/values/parseJson'
import type { Value } from '~/lib/values/value'
import type { Command } from '~/ui/CopyAs'

/** curl for a change of the run-time configuration, secrets as placeholders. */
export function configCurl(base: string, text: string): Command {
  if (jsonProblem(text) !== null) return { none: 'Correct the JSON first.' }
  const values = parseJson(text) as Value
  const copied = jsonOf(withPlaceholders(values))
  return curlCommand({
    method: 'PUT',
    path: `${base}/config`,
    headers: { 'Content-Type': 'application/json' },
    input: copied === jsonOf(values) ? text : formatJson(copied),
  })
}

/** JSON with every digit of whole numbers. */
function jsonOf(value: Value): string {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${jsonOf(inner)}`)
  return `{${members.join(',')}}`
}
