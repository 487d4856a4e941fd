/** Indents JSON as text: numbers keep all their digits, which JSON.parse would round. */

const INDENT = '  '
const BLANK = /\s/

/** The indents of a deeper text would be larger than the text. */
const DEPTH_MAX = 100
const FORMATTED_MAX = 4 * 1024 * 1024
const SHOWN_MAX = 64 * 1024

/**
 * Returns the text with one member or element a line; the text itself if it is no JSON, or if the indented text would be
 * nested too deeply or too large. Never throws.
 */
export function formatJson(text: string): string {
  if (text.length > FORMATTED_MAX || !isJson(text)) return text
  let out = ''
  let depth = 0
  let isInString = false
  const source = text.trim()
  for (let index = 0; index < source.length; index += 1) {
    if (depth > DEPTH_MAX || out.length > FORMATTED_MAX) return text
    const character = source.charAt(index)
    if (isInString) {
      out += character
      if (character === '\\') {
        index += 1
        out += source.charAt(index)
      } else if (character === '"') isInString = false
      continue
    }
    if (BLANK.test(character)) continue
    if (character === '"') {
      isInString = true
      out += character
    } else if (character === '{' || character === '[') {
      const end = nextOf(source, index + 1)
      if (end !== null && source.charAt(end) === (character === '{' ? '}' : ']')) {
        out += character + source.charAt(end)
        index = end
      } else {
        depth += 1
        out += character + newLine(depth)
      }
    } else if (character === '}' || character === ']') {
      depth -= 1
      out += newLine(depth) + character
    } else if (character === ',') out += character + newLine(depth)
    else if (character === ':') out += ': '
    else out += character
  }
  return out
}

/** Returns a value as indented JSON to show: its beginning, if it is long. Never throws. */
export function shownJson(value: unknown): string {
  let text: string
  try {
    text = formatJson(JSON.stringify(value))
  } catch {
    return 'It is nested too deeply to be shown.'
  }
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}\n… the rest is left out` : text
}

/** Returns why a text is no JSON, or null. */
export function jsonProblem(text: string): string | null {
  try {
    JSON.parse(text)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : 'This is no JSON.'
  }
}

function isJson(text: string): boolean {
  return jsonProblem(text) === null
}

function newLine(depth: number): string {
  return `\n${INDENT.repeat(depth)}`
}

function nextOf(source: string, from: number): number | null {
  for (let index = from; index < source.length; index += 1) if (!BLANK.test(source.charAt(index))) return index
  return null
}
