import { useQuery } from '@tanstack/react-query'

import { repositoriesQuery, repositoryQuery, type Repository } from '~/api/queries/repositories'

/** The first saved repositories: as many as a list offers without a search. */
export const FIRST_REPOSITORIES = repositoriesQuery({ per_page: 100, sort: 'name' })

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
