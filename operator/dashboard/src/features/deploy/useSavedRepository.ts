import { useQuery } from '@tanstack/react-query'

import { repositoriesQuery, repositoryQuery, type Repository } from '~/api/queries/repositories'
import type { DeployFields } from '~/lib/deploy/form'

/** The first saved repositories: as many as a list offers without a search. */
export const FIRST_REPOSITORIES = repositoriesQuery({ per_page: 100, sort: 'name' })

/** The URL of a repository as two of them are compared. */
function comparedUrl(url: string): string {
  return url.trim().replace(/\/+$/, '')
}

type Address = Pick<DeployFields, 'namespace' | 'repoName' | 'url'>

/** Returns the saved repository with this URL: rather the one of this name, rather one of this namespace. */
export function repositoryAt<Saved extends Pick<Repository, 'namespace' | 'name' | 'url'>>(
  saved: readonly Saved[],
  { namespace, repoName, url }: Address,
): Saved | null {
  const same = saved.filter((each) => comparedUrl(each.url) === comparedUrl(url))
  const near = same.filter((each) => each.namespace === namespace)
  return near.find(({ name }) => name === repoName) ?? near[0] ?? same[0] ?? null
}

/** Returns the id of the saved repository that a deleted xApp was deployed from; null until it is found. */
export function useRepositoryOf(typed: Partial<DeployFields> | undefined): string | null {
  const { namespace = '', repoName = '', url = '' } = typed ?? {}
  const isNamed = url !== ''
  const { data } = useQuery({
    ...repositoriesQuery({ search: comparedUrl(url), per_page: 100, sort: 'name' }),
    enabled: isNamed,
    retry: false,
  })
  const found = isNamed && data !== undefined ? repositoryAt(data.content, { namespace, repoName, url }) : null
  return found === null ? null : idOf(found)
}

/** Returns the saved repository of an id such as `namespace/name`, also one that the list has no room for. */
export function useSavedRepository(id: string, isEnabled: boolean): Repository | null {
  const { data: first } = useQuery({ ...FIRST_REPOSITORIES, enabled: isEnabled })
  const listed = first?.content.find((each) => idOf(each) === id)
  const [namespace = '', name = ''] = id.split('/')
  const isLeftOut = first !== undefined && listed === undefined && first.total_count > first.content.length
  const { data: found } = useQuery({
    ...repositoryQuery(namespace, name),
    enabled: isEnabled && isLeftOut && namespace !== '' && name !== '',
    retry: false,
  })
  return listed ?? found ?? null
}

export function idOf({ namespace, name }: Pick<Repository, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`
}
