import type { Repository } from '~/api/queries/repositories'

/** Says what the removal of a repository takes away, who uses it, and whether the operator saves it again. */
export function removalText(repository: Repository): string {
  const { namespace, hasCredentials, usedBy } = repository
  const what = `This removes the saved address${hasCredentials ? ' and its credentials' : ''} from ${namespace}.`
  if (usedBy === null) return `${what} Which xApps use it is not visible: needs list xapps in ${namespace}.`
  if (usedBy.count === 0) return `${what} No xApp uses it.`
  const names = usedBy.names.join(', ') + (usedBy.count > usedBy.names.length ? ', ...' : '')
  const isOne = usedBy.count === 1
  const users = isOne ? `1 xApp uses it (${names}). It keeps` : `${usedBy.count} xApps use it (${names}). They keep`
  const next = hasOnlyAddress(repository)
    ? 'The operator saves the address again when it next looks at one of them.'
    : `The operator does not save it again, because it has more than an address: until you add it again, ${isOne ? 'it' : 'they'} cannot be upgraded.`
  return `${what} ${users} running. ${next}`
}

function hasOnlyAddress(repository: Repository): boolean {
  const { hasCredentials, hasCaBundle, insecureSkipTLSVerify, allowPlainHTTP, verify } = repository
  return !(hasCredentials || hasCaBundle || insecureSkipTLSVerify || allowPlainHTTP || verify !== null)
}
