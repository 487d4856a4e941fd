/** Commands to copy: quoted for sh, secrets as placeholders. */

import { queryText, type Query } from '~/lib/query'

const PLAIN_WORD = /^[A-Za-z0-9_./:=@%+,-]+$/

/** One word for a POSIX shell, whatever it contains. */
export function quote(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** A word that begins with a variable, which the shell replaces: `"$GATEWAY"/api/xapps`. */
function afterVariable(variable: string, rest: string): string {
  return rest === '' ? `"$${variable}"` : `"$${variable}"${quote(rest)}`
}

export interface CurlPart {
  name: string
  /** A text, the name of a file, or a text of several lines that stands below the command; of these, one at most. */
  value?: string
  file?: string
  input?: string
}

export interface CurlRequest {
  method: string
  /** Below the address of the gateway: `/api/xapps`. */
  path: string
  query?: Query
  headers?: Record<string, string>
  json?: unknown
  /** A text that stands below the command, because it has several lines. */
  input?: string
  form?: readonly CurlPart[]
}

/** A curl command that expects $GATEWAY and $TOKEN in the environment. */
export function curlCommand({ method, path, query = {}, headers = {}, json, input, form = [] }: CurlRequest): string {
  const below = input ?? form.find((part) => part.input !== undefined)?.input
  // A script must notice that a change was refused.
  const change = method === 'GET' ? '' : ` --fail-with-body -X ${quote(method)}`
  const lines = [`curl -sS${change} ${afterVariable('GATEWAY', path + queryText(query))}`]
  lines.push('-H "Authorization: Bearer $TOKEN"')
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quote(`${name}: ${value}`)}`)
  if (json !== undefined) lines.push(`-H 'Content-Type: application/json'`, `--data-raw ${quote(JSON.stringify(json))}`)
  if (input !== undefined) lines.push('--data-binary @-')
  for (const part of form) lines.push(formOption(part))
  const command = lines.join(' \\\n  ')
  return below === undefined ? command : withInput(command, below)
}

function formOption({ name, value = '', file, input }: CurlPart): string {
  if (file !== undefined) return `-F ${quote(`${name}=@${file}`)}`
  if (input !== undefined) return `-F ${quote(`${name}=<-`)}`
  // --form-string: a value that begins with @ or < is no name of a file.
  return `--form-string ${quote(`${name}=${value}`)}`
}

/** A kubectl command of these words, each quoted. */
export function kubectl(words: readonly string[]): string {
  return ['kubectl', ...words.map(quote)].join(' ')
}

/** `kubectl apply` of a manifest that stands in the command itself. */
export function kubectlApply(manifest: string): string {
  return withInput('kubectl apply --server-side -f -', manifest)
}

/** `kubectl patch` with a JSON patch (RFC 6902) that stands in the command itself. */
export function kubectlPatch({ namespace, name }: { namespace: string; name: string }, patch: string): string {
  const words = ['patch', 'xapp', name, '-n', namespace, '--type', 'json', '--patch-file', '/dev/stdin']
  return withInput(kubectl(words), patch)
}

function withInput(command: string, input: string): string {
  let mark = 'EOF'
  while (input.split('\n').includes(mark)) mark += '_'
  return `${command} <<'${mark}'\n${input.replace(/\n$/, '')}\n${mark}`
}
