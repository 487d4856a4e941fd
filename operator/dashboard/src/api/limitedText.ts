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
