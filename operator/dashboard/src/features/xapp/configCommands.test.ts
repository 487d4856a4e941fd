// @vitest-environment node
import { expect, it } from 'vitest'

import { configCurl } from './configCommands'

it('copies the configuration with the command, as it was written', () => {
  const text = '{"b": 1.0,\n "a": 9007199254740993}'
  expect(configCurl('/api/xapps/ric/x/api', text)).toBe(
    [
      'curl -sS --fail-with-body -X PUT "$GATEWAY"/api/xapps/ric/x/api/config \\',
      '  -H "Authorization: Bearer $TOKEN" \\',
      "  -H 'Content-Type: application/json' \\",
      "  --data-binary @- <<'EOF'",
      text,
      'EOF',
    ].join('\n'),
  )
})

it('copies secrets of the configuration as placeholders, and large numbers as they are', () => {
  const command = configCurl('/x', '{"password": "geheim", "id": 9007199254740993, "list": [null, "a\\"b"]}')
  expect(command).toContain('{\n  "password": "<password>",\n  "id": 9007199254740993,\n  "list": [\n')
  expect(command).toContain('"a\\"b"')
  expect(command).not.toContain('geheim')
  expect(configCurl('/x', '{')).toHaveProperty('none')
})
