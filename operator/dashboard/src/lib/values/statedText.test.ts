// @vitest-environment node
import { expect, it } from 'vitest'

import { statedText } from './statedText'
import { parseYaml } from './yamlDocument'

it.each([
  ['', '{}'],
  [' \n\t\n', '{}'],
  ['# greeting: hello', '# greeting: hello\n{}\n'],
  ['\ufeff# a\r\n\r\n  # b\r\n', '\ufeff# a\r\n\r\n  # b\n{}\n'],
])('says that %j is no values, and keeps the comments', (text, stated) => {
  expect(statedText(text)).toBe(stated)
  expect(parseYaml(stated)).toMatchObject({ problems: [], values: {} })
})

it.each(['# a\ngreeting: hello\n', '{}', 'null', '---\n# a\n', 'text: |\n  # no comment\n'])('leaves %j', (text) => {
  expect(statedText(text)).toBe(text)
})
