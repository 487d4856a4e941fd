// @vitest-environment node
import { describe, expect, it } from 'vitest'

import { readEndOfText, readLimitedText } from '~/api/limitedText'

function bodyOf(...chunks: readonly string[]): Response {
  return new Response(
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
        controller.close()
      },
    }),
  )
}

describe('a body that is larger than the limit', () => {
  it('is refused where a part of it means nothing', async () => {
    await expect(readLimitedText(bodyOf('12345', '6'), 5)).rejects.toThrow('larger than')
    expect(await readLimitedText(bodyOf('1234', '5'), 5)).toBe('12345')
  })

  it('is cut to its end where that is what is asked for', async () => {
    expect(await readEndOfText(bodyOf('one\ntwo\n', 'three\n', 'four\n'), 10)).toBe('four\n')
    expect(await readEndOfText(bodyOf('one\ntwo\nthree\nfour\n'), 10)).toBe('four\n')
    expect(await readEndOfText(bodyOf('x'.repeat(100), 'yyy', 'zz'), 5)).toBe('…yyyzz')
    expect(await readEndOfText(bodyOf('one\n', 'two\n'), 12)).toBe('one\ntwo\n')
    expect(await readEndOfText(new Response(null), 12)).toBe('')
  })
})
