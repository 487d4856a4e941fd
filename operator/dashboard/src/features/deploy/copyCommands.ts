import type { DeploymentParts, Edited } from '~/api/queries/deployments'
import { curlCommand, kubectlApply, kubectlPatch, type CurlPart } from '~/lib/commands'
import { withoutMasks, withPlaceholders } from '~/lib/deploy/secretPlaceholders'
import { holdsSecret } from '~/lib/deploy/secretTexts'
import { apiPath } from '~/lib/query'
import { ifMatch } from '~/lib/ifMatch'
import { statedText } from '~/lib/values/statedText'
import type { Value, ValueObject } from '~/lib/values/value'
import { parseYaml } from '~/lib/values/yamlDocument'
import { stringifyYaml } from '~/lib/values/yamlText'
import type { Command } from '~/ui/CopyAs'

const NO_FILES: Command = { none: 'The chart is a file: kubectl cannot send it. Use curl.' }
const NO_CREDENTIALS: Command = { none: 'The gateway creates the Secret of the credentials too: use curl.' }
const CORRECT_YAML: Command = { none: 'Correct the YAML first.' }

interface Deployment {
  form: Readonly<Record<string, unknown>>
  fileName: string | null
  provenanceName?: string | undefined
  /** Null: the values stay as they are. */
  valuesText: string | null
  /** A new repository that is saved with the xApp, secrets as placeholders. */
  repository?: DeploymentParts['repository']
}

/** curl for a deployment (`target` null) or an upgrade, secrets as placeholders. */
export function deploymentCurl(
  { form, fileName, provenanceName, valuesText, repository }: Deployment,
  target: Edited | null,
): Command {
  const parts: CurlPart[] = [{ name: 'xAppForm', value: JSON.stringify(form) }]
  if (repository !== undefined) parts.push({ name: 'repository', value: JSON.stringify(repository) })
  if (valuesText !== null && (target !== null || valuesText.trim() !== '')) {
    const input = yamlToCopy(valuesText, { keepsMasks: target !== null })
    if (input === null) return CORRECT_YAML
    parts.push({ name: 'values', input })
  }
  if (provenanceName !== undefined) parts.push({ name: 'provenance', file: provenanceName })
  if (fileName !== null) parts.push({ name: 'file', file: fileName })
  if (target === null) return curlCommand({ method: 'POST', path: '/api/deployment/xapp', form: parts })
  const path = apiPath('api', 'deployment', 'xapp', target.namespace, target.name)
  return curlCommand({ method: 'PUT', path, headers: ifMatch(target), form: parts })
}

/** `kubectl apply` of the XApp, secrets in its values as placeholders; or why there is none. */
export function deploymentKubectl(
  { form, fileName, valuesText, repository }: Deployment,
  name: string | null,
): Command {
  if (fileName !== null) return NO_FILES
  if (repository !== undefined) return NO_CREDENTIALS
  if (name === null) return { none: 'Fill in organization, team, xApp name and namespace first.' }
  const values = parseYaml(valuesText ?? '').values
  const spec: ValueObject = { ...(form as ValueObject) }
  if (Object.keys(values).length > 0) spec.values = withPlaceholders(values)
  const manifest: Value = {
    apiVersion: 'xapp-operator.io/v1alpha1',
    kind: 'XApp',
    metadata: { name, namespace: String(form.namespace) },
    spec,
  }
  return kubectlApply(stringifyYaml(manifest))
}

/** curl for a change of the values, secrets as placeholders. */
export function valuesCurl(edited: Edited, text: string): Command {
  const input = yamlToCopy(text, { keepsMasks: true })
  if (input === null) return CORRECT_YAML
  return curlCommand({
    method: 'PUT',
    path: apiPath('api', 'xapps', edited.namespace, edited.name, 'config'),
    headers: { 'Content-Type': 'application/yaml', ...ifMatch(edited) },
    input,
  })
}

/**
 * Values as text for the gateway: as they were written, if no secret is in them. With `keepsMasks`, what the gateway has
 * masked stays, because that keeps the value; a new xApp has no value to keep. Null if the text is no YAML.
 */
function yamlToCopy(text: string, masks: { keepsMasks: boolean }): string | null {
  const { values, problems } = parseYaml(text)
  if (problems.length > 0) return null
  const written = stringifyYaml(values)
  const copied = stringifyYaml(withPlaceholders(values, masks))
  return copied === written && !holdsSecret(withoutMasks(text)) ? statedText(text) : copied
}

/** kubectl for a change of the values: a JSON merge patch would keep keys that the new values leave out. */
export function valuesKubectl(edited: Edited, text: string): Command {
  const { values, problems } = parseYaml(text)
  if (problems.length > 0) return CORRECT_YAML
  return patchOf(edited, [{ op: 'add', path: '/spec/values', value: withPlaceholders(values) }])
}

/** A JSON patch, which the API server refuses like the gateway a request whose If-Match does not match. */
function patchOf(edited: Edited, operations: readonly Value[]): string {
  const { uid, generation } = edited
  const tests: Value[] = [{ op: 'test', path: '/metadata/uid', value: uid }]
  if (generation !== null) tests.push({ op: 'test', path: '/metadata/generation', value: generation })
  return kubectlPatch(edited, stringifyYaml([...tests, ...operations]))
}

/**
 * kubectl for an upgrade: a JSON patch of the fields that change. `kubectl apply` would be refused, because the gateway
 * owns the fields, and would keep values that the new ones leave out.
 */
export function upgradeKubectl(
  { form, fileName, valuesText }: Deployment,
  stored: Readonly<Record<string, unknown>>,
  edited: Edited,
): Command {
  if (fileName !== null) return NO_FILES
  const { values, problems } = parseYaml(valuesText ?? '')
  if (problems.length > 0) return CORRECT_YAML
  const operations = Object.entries(form as ValueObject).flatMap(([name, value]): Value[] => {
    const path = `/spec/${name}`
    if (value === null) return [{ op: 'remove', path }]
    return JSON.stringify(value) === JSON.stringify(stored[name]) ? [] : [{ op: 'add', path, value }]
  })
  if (valuesText !== null) operations.push({ op: 'add', path: '/spec/values', value: withPlaceholders(values) })
  if (operations.length === 0) return { none: 'You have not changed anything.' }
  return patchOf(edited, operations)
}
