import { apiField, type DeployFields } from '~/lib/deploy/form'
import { Problem } from '~/lib/problem'

import type { Credentials } from './deployDraft'

/** The choice of a repository that is not saved yet. */
export const NEW_REPOSITORY = 'new'

/** The body that saves the typed repository. */
export function newRepository(fields: DeployFields, { kind, username, password, token, allowPlainHTTP }: Credentials) {
  return {
    name: fields.repoName.trim(),
    namespace: fields.namespace.trim(),
    url: fields.url.trim(),
    ...(kind === 'basic' ? { username, password } : {}),
    ...(kind === 'token' ? { token } : {}),
    ...(kind !== 'none' && allowPlainHTTP ? { allowPlainHTTP } : {}),
  }
}

const FIELD_NAMES: Readonly<Record<string, string>> = {
  name: apiField('repoName'),
  namespace: apiField('namespace'),
  url: apiField('url'),
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
