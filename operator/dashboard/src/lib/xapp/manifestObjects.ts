/** A manifest, cut into its objects without parsing YAML: the text stays as it is. */

export interface ManifestObject {
  /** `Kind/name`, made unique within the manifest; used in the URL. */
  id: string
  kind: string
  name: string
  text: string
}

const SEPARATOR = /^---(?:\s.*)?$/

/** Splits at document separators. Parts without any content are left out. */
export function manifestObjects(manifest: string): ManifestObject[] {
  const objects: ManifestObject[] = []
  const used = new Map<string, number>()
  for (const text of documentsOf(manifest)) {
    const kind = topLevelValue(text, 'kind') ?? 'Object'
    const name = metadataName(text) ?? `${objects.length + 1}`
    const base = `${kind}/${name}`
    const count = (used.get(base) ?? 0) + 1
    used.set(base, count)
    objects.push({ id: count === 1 ? base : `${base}#${count}`, kind, name, text })
  }
  return objects
}

function documentsOf(manifest: string): string[] {
  const documents: string[][] = [[]]
  for (const line of manifest.split('\n')) {
    if (SEPARATOR.test(line)) documents.push([])
    else documents.at(-1)?.push(line)
  }
  return documents
    .filter((lines) => lines.some((line) => line.trim() !== '' && !line.trimStart().startsWith('#')))
    .map((lines) => lines.join('\n').replace(/^\n+|\s+$/g, ''))
}

function topLevelValue(text: string, key: string): string | null {
  const line = text.split('\n').find((each) => each.startsWith(`${key}:`))
  return line === undefined ? null : scalar(line.slice(key.length + 1))
}

function metadataName(text: string): string | null {
  const inBraces = /^metadata:\s*\{/m.exec(text)
  if (inBraces !== null) return nameInBraces(text.slice(inBraces.index + inBraces[0].length))
  const lines = text.split('\n')
  const begin = lines.findIndex((line) => /^metadata:\s*$/.test(line))
  if (begin < 0) return null
  let indent: number | null = null
  for (const line of lines.slice(begin + 1)) {
    if (line.trim() === '') continue
    const own = line.length - line.trimStart().length
    if (own === 0) return null
    indent ??= own
    if (own === indent && line.slice(own).startsWith('name:')) return scalar(line.slice(own + 'name:'.length))
  }
  return null
}

/** The name in what follows `metadata: {`, where names of labels do not count. */
function nameInBraces(text: string): string | null {
  let depth = 1
  for (const [part, quoted] of text.matchAll(
    /("[^"]*"|'[^']*')|[{}[\]]|(?<![\w./-])name:\s*("[^"]*"|'[^']*'|[^\s,{}[\]]+)/g,
  )) {
    if (quoted !== undefined) continue
    if ('{['.includes(part)) depth += 1
    else if ('}]'.includes(part)) depth -= 1
    else if (depth === 1) return scalar(part.slice('name:'.length))
    if (depth === 0) return null
  }
  return null
}

function scalar(text: string): string | null {
  const trimmed = text.trim().replace(/\s+#.*$/, '')
  const quoted = /^(["'])(.*)\1$/.exec(trimmed)
  const value = quoted ? (quoted[2] ?? '') : trimmed
  return value === '' ? null : value
}
