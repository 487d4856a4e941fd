/** A file of the user, as text; or why it is not taken, with the rule and what to do. */
export type FileText = { text: string } | { refused: string }

interface Rule {
  /** What the file is for, in the plural, for example "Values". */
  what: string
  bytesMax: number
}

/** Reads a file as UTF-8. Other bytes are refused: decoded anyhow, they would become U+FFFD without a word. */
export async function readTextFile(file: File, { what, bytesMax }: Rule): Promise<FileText> {
  const count = (bytes: number): string => bytes.toLocaleString('en')
  if (file.size > bytesMax) {
    return { refused: `${file.name} has ${count(file.size)} bytes. ${what} may have at most ${count(bytesMax)}.` }
  }
  let bytes: ArrayBuffer
  try {
    bytes = await file.arrayBuffer()
  } catch {
    return { refused: `${file.name} could not be read, so nothing was changed. Choose it again.` }
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    // UTF-16 without a mark is UTF-8 too, with a NUL in each letter.
    if (!text.includes('\0')) return { text }
  } catch {
    // Said below.
  }
  return {
    refused: `${file.name} is not UTF-8 text, so nothing was changed. ${what} must be UTF-8: save the file in this encoding, then load it again.`,
  }
}
