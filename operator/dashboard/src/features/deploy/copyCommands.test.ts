// @vitest-environment node
import { expect, it } from 'vitest'

import { parseYaml } from '~/lib/values/yamlDocument'

import { deploymentCurl, deploymentKubectl, upgradeKubectl, valuesCurl, valuesKubectl } from './copyCommands'
import { NO_CREDENTIALS } from './deployDraft'
import { repositoryPartToCopy } from './newRepository'

const FORM = { xAppName: "it's", method: 'Remote Chart Repository', namespace: 'ric', url: 'https://x' }
const TARGET = { namespace: 'ric', name: 'acme-ran-hello', uid: '1f-2e', generation: 3 }

it('copies a deployment as curl, with files by their names and the values', () => {
  const command = deploymentCurl({ form: FORM, fileName: 'a.tgz', valuesText: 'password: geheim' }, null)
  expect(command).toContain('-X POST "$GATEWAY"/api/deployment/xapp')
  expect(command).toContain('-F file=@a.tgz')
  expect(command).toContain("-F 'values=<-'")
  expect(command).toMatch(/<<'EOF'\npassword: <password>\nEOF$/)
  expect(command).not.toContain('geheim')
})

it('copies an upgrade with the xApp and the generation that were edited', () => {
  expect(deploymentCurl({ form: FORM, fileName: null, valuesText: null }, TARGET)).toContain('If-Match: "1f-2e/3"')
  expect(valuesCurl(TARGET, 'a: 1')).toContain('If-Match: "1f-2e/3"')
})

/** What the command sends as values. */
function sentValues(command: ReturnType<typeof valuesCurl>): string {
  if (typeof command !== 'string') throw new Error(command.none)
  return /<<'EOF_*'\n([^]*)\nEOF_*$/.exec(command)?.[1] ?? ''
}

it('copies values with the command, as they were written', () => {
  const text = '# mine\nb: 1 # first\na: 9007199254740993\ntoken: ••••••\nurl: https://jane:••••••@example.com'
  expect(sentValues(valuesCurl(TARGET, text))).toBe(text)
  expect(sentValues(deploymentCurl({ form: FORM, fileName: null, valuesText: text }, TARGET))).toBe(text)
  expect(valuesCurl(TARGET, text)).toContain('--fail-with-body')
})

it('copies no secret of values, also none in a comment, and keeps what the gateway has masked', () => {
  const text = '# password: geheim\ntoken: ••••••\npassword: geheim\nargs: ["--password=geheim"]\nname: x'
  const sent = sentValues(valuesCurl(TARGET, text))
  expect(sent).not.toContain('geheim')
  expect(parseYaml(sent).values).toEqual({
    token: '••••••',
    password: '<password>',
    args: ['<args>'],
    name: 'x',
  })
  expect(sentValues(valuesCurl(TARGET, '# password: geheim\nname: x'))).toBe('name: x')
})

it('asks for what the gateway has masked where there is no value to keep', () => {
  const text = 'token: ••••••\nurl: https://jane:••••••@example.com\nargs: ["--key=••••••"]\nname: x'
  const sent = sentValues(deploymentCurl({ form: FORM, fileName: 'a.tgz', valuesText: text }, null))
  expect(sent).not.toContain('•')
  expect(parseYaml(sent).values).toMatchObject({ token: '<token>', args: ['<args>'], name: 'x' })
  for (const command of [
    deploymentKubectl({ form: FORM, fileName: null, valuesText: text }, 'n'),
    upgradeKubectl({ form: FORM, fileName: null, valuesText: text }, FORM, TARGET),
    valuesKubectl(TARGET, text),
  ]) {
    expect(command).toContain('<token>')
    expect(command).not.toContain('•')
  }
})

it('removes all values only where the editor says nothing', () => {
  expect(sentValues(valuesCurl(TARGET, ' \n'))).toBe('{}')
  expect(sentValues(valuesCurl(TARGET, '# later\n'))).toBe('# later\n{}')
  expect(sentValues(deploymentCurl({ form: FORM, fileName: null, valuesText: '' }, TARGET))).toBe('{}')
  expect(deploymentCurl({ form: FORM, fileName: null, valuesText: null }, TARGET)).not.toContain('values')
  expect(deploymentCurl({ form: FORM, fileName: 'a.tgz', valuesText: '' }, null)).not.toContain('values')
})

it('copies the XApp for kubectl, with placeholders for secrets and every digit', () => {
  const command = deploymentKubectl(
    { form: FORM, fileName: null, valuesText: 'id: 9007199254740993\npassword: geheim\n' },
    'n',
  )
  if (typeof command !== 'string') throw new Error(command.none)
  expect(command).not.toContain('geheim')
  const manifest = command.split("<<'EOF'\n")[1]?.replace(/\nEOF$/, '') ?? ''
  expect(parseYaml(manifest).values).toMatchObject({
    kind: 'XApp',
    metadata: { name: 'n', namespace: 'ric' },
    spec: { xAppName: "it's", values: { id: 9007199254740993n, password: '<password>' } },
  })
})

it('says why there is no command', () => {
  expect(deploymentKubectl({ form: FORM, fileName: 'a.tgz', valuesText: null }, 'n')).toHaveProperty('none')
  expect(deploymentKubectl({ form: FORM, fileName: null, valuesText: null }, null)).toHaveProperty('none')
  expect(valuesKubectl(TARGET, 'a: [')).toHaveProperty('none')
  expect(valuesCurl(TARGET, 'a: [')).toHaveProperty('none')
  expect(valuesKubectl(TARGET, 'a: 1')).toContain('kubectl patch xapp acme-ran-hello')
})

it('copies an upgrade for kubectl as a patch of what changes', () => {
  const stored = { ...FORM, version: '1.0', timeout: '5m', upgrade: { onFailure: 'none' } }
  const form = { ...FORM, version: '1.1', timeout: null, upgrade: { onFailure: 'none' } }
  const command = upgradeKubectl({ form, fileName: null, valuesText: 'token: geheim' }, stored, TARGET)
  expect(command).toBe(
    [
      "kubectl patch xapp acme-ran-hello -n ric --type json --patch-file /dev/stdin <<'EOF'",
      '- op: test',
      '  path: /metadata/uid',
      '  value: 1f-2e',
      '- op: test',
      '  path: /metadata/generation',
      '  value: 3',
      '- op: add',
      '  path: /spec/version',
      '  value: "1.1"',
      '- op: remove',
      '  path: /spec/timeout',
      '- op: add',
      '  path: /spec/values',
      '  value:',
      '    token: <token>',
      'EOF',
    ].join('\n'),
  )
  expect(upgradeKubectl({ form: stored, fileName: null, valuesText: null }, stored, TARGET)).toHaveProperty('none')
  expect(upgradeKubectl({ form, fileName: 'a.tgz', valuesText: null }, stored, TARGET)).toHaveProperty('none')
})

it('copies a provenance file with its chart', () => {
  const command = deploymentCurl(
    { form: FORM, fileName: 'a.tgz', provenanceName: 'a.tgz.prov', valuesText: null },
    null,
  )
  expect(command).toContain('-F provenance=@a.tgz.prov')
})

it('copies a new repository with the deployment that saves it, without its secrets', () => {
  const repository = repositoryPartToCopy({ ...NO_CREDENTIALS, kind: 'basic', username: 'jane', password: 'geheim' })
  const deployment = { form: FORM, fileName: null, valuesText: null, repository }
  const command = deploymentCurl(deployment, null)
  expect(command).toContain(`--form-string 'repository={"username":"<username>","password":"<password>"}'`)
  expect(command).not.toContain('geheim')
  expect(deploymentKubectl(deployment, 'n')).toHaveProperty('none')
  expect(repositoryPartToCopy({ ...NO_CREDENTIALS, kind: 'token', token: 'geheim' })).toEqual({ token: '<token>' })
  expect(repositoryPartToCopy(NO_CREDENTIALS)).toBeUndefined()
})
