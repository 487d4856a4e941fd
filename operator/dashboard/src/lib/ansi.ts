/** Colours of terminals in logs, by a fixed list of classes. All other escape sequences are left out. */

export type AnsiStyle = 'bold' | 'dim' | 'italic' | 'underline' | AnsiColour

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const
export type AnsiColour = (typeof COLOURS)[number]

export interface AnsiSpan {
  from: number
  to: number
  styles: AnsiStyle[]
}

export interface AnsiLine {
  text: string
  spans: AnsiSpan[]
}

interface State {
  colour: AnsiColour | null
  weight: 'bold' | 'dim' | null
  italic: boolean
  underline: boolean
}

const PLAIN: State = { colour: null, weight: null, italic: false, underline: false }

/** CSI sequences, OSC sequences (links, titles) up to their end, and other escapes of two characters. */
// eslint-disable-next-line no-control-regex
const ESCAPE = /\u001b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g

/** Takes the escape sequences out of one line; colours end with the line. */
export function parseAnsi(line: string): AnsiLine {
  if (!line.includes('\u001b')) return { text: line, spans: [] }
  let text = ''
  let state = PLAIN
  let last = 0
  const spans: AnsiSpan[] = []
  const add = (part: string): void => {
    const styles = stylesOf(state)
    if (part !== '' && styles.length > 0) spans.push({ from: text.length, to: text.length + part.length, styles })
    text += part
  }
  for (const match of line.matchAll(ESCAPE)) {
    add(line.slice(last, match.index))
    last = match.index + match[0].length
    if (match[2] === 'm') state = after(state, match[1] ?? '')
  }
  add(line.slice(last))
  return { text, spans }
}

function stylesOf({ colour, weight, italic, underline }: State): AnsiStyle[] {
  const all: (AnsiStyle | null)[] = [weight, colour, italic ? 'italic' : null, underline ? 'underline' : null]
  return all.filter((style) => style !== null)
}

function after(state: State, parameters: string): State {
  const codes = parameters.split(/[;:]/).map(Number)
  let next = state
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0
    if (code === 38 || code === 48) {
      // 256 colours and true colour are not in the list: skip their parameters.
      index += codes[index + 1] === 5 ? 2 : 4
      continue
    }
    next = withCode(next, code)
  }
  return next
}

function withCode(state: State, code: number): State {
  if (code === 0) return PLAIN
  if (code === 1) return { ...state, weight: 'bold' }
  if (code === 2) return { ...state, weight: 'dim' }
  if (code === 22) return { ...state, weight: null }
  if (code === 3 || code === 23) return { ...state, italic: code === 3 }
  if (code === 4 || code === 24) return { ...state, underline: code === 4 }
  if (code === 39) return { ...state, colour: null }
  const colour = COLOURS[code >= 90 ? code - 90 : code - 30]
  return code >= 30 && colour !== undefined ? { ...state, colour } : state
}
