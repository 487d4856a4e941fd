import type { DeploymentParts } from '~/api/queries/deployments'
import { curlCommand, kubectlApply } from '~/lib/commands'
import { apiField, type DeployFields } from '~/lib/deploy/form'
import { Problem } from '~/lib/problem'
import { NO_REPOSITORY, plainHttpProblem, repositoryManifest, settingsToCopy } from '~/lib/repositories/form'
import type { Command } from '~/ui/CopyAs'

import type { Credentials } from './deployDraft'

/** The choice of a repository that is not saved yet. */
export const NEW_REPOSITORY = 'new'

/** The name of a field of the credentials, as the gateway has it in its refusals of a deployment. */
export function credentialField(name: 'username' | 'password' | 'token'): string {
  return `repository.${name}`
}

/** What is wrong with the URL of the typed repository, for its credentials; null if they may be sent to it. */
export function newRepositoryProblem({ url }: DeployFields, { kind, allowPlainHTTP }: Credentials): string | null {
  return kind === 'none' ? null : plainHttpProblem({ url, allowPlainHTTP })
}

/** What a deployment sends of the typed repository besides its name and URL; nothing without credentials. */
export function repositoryPart({
  kind,
  username,
  password,
  token,
  allowPlainHTTP,
}: Credentials): DeploymentParts['repository'] {
  if (kind === 'none') return undefined
  const credentials = kind === 'basic' ? { username, password } : { token }
  return { ...credentials, ...(allowPlainHTTP ? { allowPlainHTTP } : {}) }
}

/** The same for a command to copy: what is secret is a placeholder. */
export function repositoryPartToCopy(credentials: Credentials): DeploymentParts['repository'] {
  const part = repositoryPart(credentials)
  return part && settingsToCopy(part)
}

/** The body that saves the typed repository. */
export function newRepository(fields: DeployFields, credentials: Credentials) {
  return {
    name: fields.repoName.trim(),
    namespace: fields.namespace.trim(),
    url: fields.url.trim(),
    ...repositoryPart(credentials),
  }
}

const NO_KUBECTL: Command = { none: 'The gateway creates the Secret of the credentials too: use curl.' }

/** The commands that save the typed repository. */
export function saveCommands(fields: DeployFields, credentials: Credentials): { curl: string; kubectl: Command } {
  const body = newRepository(fields, credentials)
  const { name, namespace, url } = body
  const manifest = repositoryManifest({ ...NO_REPOSITORY, name, namespace, url, credentials: credentials.kind })
  return {
    curl: curlCommand({ method: 'POST', path: '/api/repositories', json: settingsToCopy(body) }),
    kubectl: manifest === null ? NO_KUBECTL : kubectlApply(manifest),
  }
}

const FIELD_NAMES: Readonly<Record<string, string>> = {
  name: apiField('repoName'),
  namespace: apiField('namespace'),
  url: apiField('url'),
  username: credentialField('username'),
  password: credentialField('password'),
  token: credentialField('token'),
}

/** The refusal of a repository, with the names that its fields have in the form of a deployment. */
export function inDeployForm(error: unknown): unknown {
  if (!(error instanceof Problem)) return error
  const errors = error.errors.map((each) => ({ ...each, field: FIELD_NAMES[each.field] ?? each.field }))
  return new Problem({ ...fieldsOf(error), errors }, error)
}

function fieldsOf({ type, title, status, detail, instance, missing }: Problem) {
  return { type, title, status, detail, instance, missing }
}
