/** The unified diff of the API, object by object. */

export interface DiffLine {
  kind: 'same' | 'in' | 'out' | 'hunk'
  text: string
}

export interface ObjectDiff {
  /** What the header of the diff names: `apps/v1 Deployment ric/web`. */
  name: string
  change: 'create' | 'change' | 'remove'
  lines: DiffLine[]
}

const NOWHERE = '/dev/null'

function named(header: string): string {
  return header
    .slice(4)
    .replace(/\t.*$/, '')
    .replace(/^[ab]\//, '')
}

/** Reads a diff. A line that has no place in one is left out: the text comes from charts. */
export function parseUnifiedDiff(diff: string): ObjectDiff[] {
  const objects: ObjectDiff[] = []
  const lines = diff.split('\n')
  // Inside of a hunk a removed line can look like a header: `--- a`. Only its counts tell them apart.
  let [before, after] = [0, 0]
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    const current = objects.at(-1)
    if (before > 0 || after > 0) {
      const sign = line.charAt(0)
      if (sign !== '+') before -= 1
      if (sign !== '-') after -= 1
      current?.lines.push({ kind: sign === '+' ? 'in' : sign === '-' ? 'out' : 'same', text: line.slice(1) })
    } else if (line.startsWith('--- ') && lines[index + 1]?.startsWith('+++ ')) {
      const [old, next] = [named(line), named(lines[index + 1] ?? '')]
      const change = old === NOWHERE ? 'create' : next === NOWHERE ? 'remove' : 'change'
      objects.push({ name: old === NOWHERE ? next : old, change, lines: [] })
      index += 1
    } else {
      const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line)
      if (!hunk) continue
      before = Number(hunk[1] ?? 1)
      after = Number(hunk[2] ?? 1)
      current?.lines.push({ kind: 'hunk', text: line })
    }
  }
  return objects
}
