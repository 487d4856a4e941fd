// @vitest-environment node
import { expect, it } from 'vitest'

import { parseYaml } from '~/lib/values/yamlDocument'

import { deploymentCurl, deploymentKubectl, valuesCurl, valuesKubectl } from './copyCommands'

const FORM = { xAppName: "it's", method: 'Remote Chart Repository', namespace: 'ric', url: 'https://x' }
const TARGET = { namespace: 'ric', name: 'acme-ran-hello', generation: 3 }

it('copies a deployment as curl, with files by their names', () => {
  const command = deploymentCurl({ form: FORM, fileName: 'a.tgz', valuesText: 'password: geheim' }, null)
  expect(command).toContain('-X POST "$GATEWAY"/api/deployment/xapp')
  expect(command).toContain('-F file=@a.tgz')
  expect(command).toContain('-F values=@values.yaml')
  expect(command).not.toContain('geheim')
})

it('copies an upgrade with the generation that was edited', () => {
  expect(deploymentCurl({ form: FORM, fileName: null, valuesText: null }, TARGET)).toContain('If-Match: "3"')
  expect(valuesCurl(TARGET)).toContain('--data-binary @values.yaml')
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
  expect(valuesKubectl(TARGET, 'a: 1')).toContain('kubectl patch xapp acme-ran-hello')
})
