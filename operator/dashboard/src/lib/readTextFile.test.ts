// @vitest-environment node
import { expect, it } from 'vitest'

import { readTextFile } from './readTextFile'

const RULE = { what: 'Values', bytesMax: 40 }

function read(content: BlobPart): Promise<object> {
  return readTextFile(new File([content], 'site.yaml'), RULE)
}

it('reads UTF-8, without its mark', async () => {
  expect(await read('name: J\u00fcrgen\n')).toEqual({ text: 'name: J\u00fcrgen\n' })
  expect(await read('\ufeffa: 1\n')).toEqual({ text: 'a: 1\n' })
  expect(await read('')).toEqual({ text: '' })
})

it.each([
  ['Latin-1', [0x6a, 0xfc, 0x72]],
  ['gzip', [0x1f, 0x8b, 0x08, 0x00]],
  ['UTF-16', [0xff, 0xfe, 0x61, 0x00]],
  ['UTF-16 without a mark', [0x61, 0x00, 0x3a, 0x00]],
])('refuses %s', async (_, bytes) => {
  expect(await read(new Uint8Array(bytes))).toEqual({
    refused:
      'site.yaml is not UTF-8 text, so nothing was changed. Values must be UTF-8: save the file in this encoding, then load it again.',
  })
})

it('refuses what is too large before it reads it', async () => {
  const file = new File(['x'.repeat(41)], 'big.yaml')
  file.arrayBuffer = () => Promise.reject(new Error('read'))
  expect(await readTextFile(file, RULE)).toEqual({ refused: 'big.yaml has 41 bytes. Values may have at most 40.' })
})

it('says that a file cannot be read', async () => {
  const file = new File(['a: 1'], 'gone.yaml')
  file.arrayBuffer = () => Promise.reject(new DOMException('gone', 'NotReadableError'))
  const refused = 'gone.yaml could not be read, so nothing was changed. Choose it again.'
  expect(await readTextFile(file, RULE)).toEqual({ refused })
})
