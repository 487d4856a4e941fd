import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'

import { repositoriesQuery, repositoryQuery, type Repository } from '~/api/queries/repositories'
import { describeError } from '~/lib/problem'
import { ComboBox } from '~/ui/ComboBox'
import { Select } from '~/ui/Select'

import { NEW_REPOSITORY } from './newRepository'
import { FIRST_REPOSITORIES, idOf } from './useSavedRepository'

interface RepositoryFieldProps {
  /** `namespace/name`, `new`, or empty. */
  repository: string
  chosen: Repository | null
  onRepository: (id: string, found: Repository | null) => void
}

const NEW_ITEM = { id: NEW_REPOSITORY, label: 'A new repository', description: 'Give its name and URL' }

/** Chooses a saved repository, or a new one: from a list, or by a search where there are more than a list has room for. */
export function RepositoryField(props: RepositoryFieldProps) {
  const first = useQuery(FIRST_REPOSITORIES)
  const { content = [], total_count: total = 0 } = first.data ?? {}
  if (total > content.length) return <SearchedRepositories {...props} total={total} />
  const { repository, onRepository } = props
  const isMissing = first.data !== undefined && !first.isFetching && !content.some((each) => idOf(each) === repository)
  return (
    <Select
      label="Repository"
      name="repository"
      items={[...content.map(itemOf), NEW_ITEM]}
      value={repository === '' ? null : repository}
      onChange={(id) => onRepository(id, content.find((each) => idOf(each) === id) ?? null)}
      isRequired
      error={first.error === null ? (isMissing ? missingText(repository) : null) : describeError(first.error).detail}
    />
  )
}

/** What the field says of a repository that an address names, and that was not found; null: none is named. */
function missingText(id: string): string | null {
  if (id === '' || id === NEW_REPOSITORY) return null
  return `The repository ${id} is not there, or you may not see it. Choose another one.`
}

function itemOf(repository: Repository) {
  return { id: idOf(repository), label: labelOf(repository), description: repository.url }
}

function labelOf({ namespace, name }: Repository): string {
  return `${name} (${namespace})`
}

function SearchedRepositories({ repository, chosen, onRepository, total }: RepositoryFieldProps & { total: number }) {
  // What is typed is a search only: without a choice, the field shows again what was chosen before.
  const [typed, setTyped] = useState<string | null>(null)
  const label = repository === NEW_REPOSITORY ? NEW_ITEM.label : chosen === null ? '' : labelOf(chosen)
  const search = useDeferredValue(typed === null || typed === label ? '' : typed.trim())
  const answer = useQuery(repositoriesQuery({ search, per_page: 100, sort: 'name' }))
  const found = answer.data?.content ?? []
  const [namespace = '', name = ''] = repository.split('/')
  const isNamed = namespace !== '' && name !== ''
  const one = useQuery({ ...repositoryQuery(namespace, name), enabled: chosen === null && isNamed, retry: false })
  const isMissing = chosen === null && (one.isError || !isNamed)
  const left = (answer.data?.total_count ?? 0) - found.length
  return (
    <ComboBox
      label="Repository"
      name="repository"
      items={[NEW_ITEM, ...found.map(itemOf)]}
      value={typed ?? label}
      onChange={setTyped}
      onSelect={(id) => {
        onRepository(id, found.find((each) => idOf(each) === id) ?? null)
        setTyped(null)
      }}
      onBlur={() => setTyped(null)}
      isFiltered
      read={{ what: 'repositories', query: answer }}
      isRequired
      error={isMissing ? missingText(repository) : null}
      description={left > 0 ? `${found.length} of ${total} are shown: type to search` : 'Type to search'}
    />
  )
}
