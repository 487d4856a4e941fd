/** Reads bodies of unknown size. */

export class TooLarge extends Error {
  constructor(limit: number) {
    super(`The answer is larger than ${Math.round(limit / 1024)} KiB.`)
    this.name = 'TooLarge'
  }
}

/** Returns the body as text, decoded as UTF-8. Raises TooLarge, and stops reading, beyond `limit` bytes. */
export async function readLimitedText(response: Response, limit: number): Promise<string> {
  if (response.body === null) return ''
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let size = 0
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    size += value.byteLength
    if (size > limit) {
      await reader.cancel()
      throw new TooLarge(limit)
    }
    text += decoder.decode(value, { stream: true })
  }
}

/** Returns the end of the body as text, from a beginning of a line on if more than `limit` bytes came. */
export async function readEndOfText(response: Response, limit: number): Promise<string> {
  if (response.body === null) return ''
  const reader = response.body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  let isCut = false
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    chunks.push(value)
    size += value.byteLength
    for (let oldest = chunks[0]; oldest && size - oldest.byteLength >= limit; oldest = chunks[0]) {
      size -= oldest.byteLength
      chunks.shift()
      isCut = true
    }
  }
  const text = await new Blob(chunks as BlobPart[]).text()
  const end = size > limit ? text.slice(-limit) : text
  if (!isCut && end === text) return text
  const lineStart = end.indexOf('\n') + 1
  return lineStart > 0 && lineStart < end.length ? end.slice(lineStart) : `…${end}`
}
