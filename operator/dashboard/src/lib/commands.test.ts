// @vitest-environment node
import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'

import { curlCommand, kubectl, kubectlApply, quote } from './commands'

/** What a real shell makes of the command, word by word. */
function words(command: string): string[] {
  const script = `curl() { printf '%s\\0' curl "$@"; }; kubectl() { printf '%s\\0' kubectl "$@"; cat; }\n${command}`
  const env = { GATEWAY: 'http://gw', TOKEN: 'secret' }
  return execFileSync('sh', ['-c', script], { env, encoding: 'utf8', input: '' })
    .split('\0')
    .filter((word) => word !== '')
}

describe('commands to copy', () => {
  it.each(['plain', "it's", 'a b', '$(touch x)', '`id`', '"; rm -rf /', '\\', 'new\nline', '*', '~', '!!', 'ä€'])(
    'mean the same to a shell: %j',
    (word) => {
      expect(words(`curl ${quote(word)} end`)).toEqual(['curl', word, 'end'])
    },
  )

  it('send a request with the token of the environment', () => {
    const command = curlCommand({
      method: 'DELETE',
      path: '/api/x',
      query: { search: "it's", a: 1, b: null },
      json: { name: "o'k" },
    })
    expect(command).not.toContain('secret')
    expect(words(command)).toEqual([
      'curl',
      '-sS',
      '--fail-with-body',
      '-X',
      'DELETE',
      'http://gw/api/x?search=it%27s&a=1',
      '-H',
      'Authorization: Bearer secret',
      '-H',
      'Content-Type: application/json',
      '--data-raw',
      '{"name":"o\'k"}',
    ])
  })

  it('send texts as texts, whatever they begin with', () => {
    const command = curlCommand({
      method: 'POST',
      path: '/api/deployment/xapp',
      form: [
        { name: 'xAppForm', value: '@/etc/passwd' },
        { name: 'file', file: 'a b.tgz' },
      ],
    })
    expect(words(command).slice(-4)).toEqual(['--form-string', 'xAppForm=@/etc/passwd', '-F', 'file=@a b.tgz'])
  })

  it('send texts of several lines, whatever is in them', () => {
    const text = "a: $(id)\nEOF\nb: 'x'\n"
    const script = (command: string): string =>
      execFileSync('sh', ['-c', `curl() { echo "$@"; cat; }\n${command}`], { encoding: 'utf8', env: { GATEWAY: 'gw' } })
    expect(script(curlCommand({ method: 'PUT', path: '/x', input: text }))).toMatch(
      / --data-binary @-\na: \$\(id\)\nEOF\nb: 'x'\n$/,
    )
    expect(script(curlCommand({ method: 'PUT', path: '/x', form: [{ name: 'values', input: text }] }))).toMatch(
      / -F values=<-\na: \$\(id\)\nEOF\nb: 'x'\n$/,
    )
  })

  it('apply a manifest as it is', () => {
    const manifest = "a: $(id)\nEOF\nb: 'x'\n"
    expect(words(kubectlApply(manifest)).at(-1)).toBe(manifest)
    expect(words(kubectl(['annotate', 'xapp', 'a b'])).slice(0, 4)).toEqual(['kubectl', 'annotate', 'xapp', 'a b'])
  })
})
