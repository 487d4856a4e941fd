/** Makes characters visible that change how a text looks or reads: control, bidi and invisible characters. */

export interface TextPart {
  text: string
  /** Set for a character that is shown by its name instead, for example "U+202E". */
  hidden?: string
}

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/
const NEWLINE_OR_TAB = /[\n\t]/
/** Control characters, bidi controls, invisible characters (but the one that makes an emoji), halves of surrogates. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|(?!\ufe0f)\p{Default_Ignorable_Code_Point}/u

/** Returns whether a text has printable ASCII characters only, as nearly all names have. */
export function isAscii(text: string): boolean {
  return PRINTABLE_ASCII.test(text)
}

/** Splits a text into what is shown as it is, and hidden characters. Line ends and tabs stay if `multiline`. */
export function visibleParts(text: string, { multiline = false }: { multiline?: boolean } = {}): TextPart[] {
  if (isAscii(text) || !HIDDEN.test(text)) return text === '' ? [] : [{ text }]
  const parts: TextPart[] = []
  let plain = ''
  for (const character of text) {
    if (!HIDDEN.test(character) || (multiline && NEWLINE_OR_TAB.test(character))) {
      plain += character
      continue
    }
    if (plain !== '') parts.push({ text: plain })
    plain = ''
    parts.push({ text: symbolOf(character), hidden: nameOf(character) })
  }
  if (plain !== '') parts.push({ text: plain })
  return parts
}

/** Returns the text with hidden characters replaced by their symbols, for places that take a plain string. */
export function visibleText(text: string, options?: { multiline?: boolean }): string {
  return visibleParts(text, options)
    .map((part) => part.text)
    .join('')
}

function symbolOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  if (code === 0x7f) return '\u2421'
  return `[${nameOf(character)}]`
}

function nameOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
