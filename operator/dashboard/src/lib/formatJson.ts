/** Indents JSON as text: numbers keep all their digits, which JSON.parse would round. */

const INDENT = '  '
const BLANK = /\s/

/** Returns the text with one member or element a line; the text itself if it is no JSON. */
export function formatJson(text: string): string {
  if (!isJson(text)) return text
  let out = ''
  let depth = 0
  let isInString = false
  const source = text.trim()
  for (let index = 0; index < source.length; index += 1) {
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
