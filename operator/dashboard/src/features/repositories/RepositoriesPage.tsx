import { getRouteApi } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, type ReactElement } from 'react'

import { namespacesQuery } from '~/api/queries/namespaces'
import { repositoriesQuery, type Repository } from '~/api/queries/repositories'
import { usePermissions } from '~/api/usePermissions'
import { useRightSomewhere } from '~/api/useRightSomewhere'
import { curlCommand, kubectl } from '~/lib/commands'
import type { Right } from '~/lib/rights'
import type { RepositoriesSearch } from '~/lib/routeSearch'
import { joinNames, splitNames } from '~/lib/searchParams'
import { Button } from '~/ui/Button'
import { ComboBox } from '~/ui/ComboBox'
import { CopyAs } from '~/ui/CopyAs'
import { CopyButton } from '~/ui/CopyButton'
import { DataTable, type Column } from '~/ui/DataTable'
import { EmptyState } from '~/ui/EmptyState'
import { FilterBar } from '~/ui/FilterBar'
import { ButtonLink, Link } from '~/ui/Link'
import { NoneVisible } from '~/ui/NoneVisible'
import { Page } from '~/ui/Page'
import { Pagination, useLeftPage } from '~/ui/Pagination'
import { QueryContent } from '~/ui/Panel'
import { SearchField } from '~/ui/SearchField'
import { MiddleText } from '~/ui/Text'
import { AsOf, Time } from '~/ui/Time'
import { useFilterText } from '~/ui/useFilterText'

import { RepositoryActions } from './RepositoryActions'
import { RepositoryState, stateOf, UsedBy } from './RepositoryState'
import styles from './repositories.module.css'

const route = getRouteApi('/repositories')
const ROWS = 50
/** While the operator reads a new repository, and otherwise. */
const [SOON, LATER] = [2000, 15_000]

const COLUMNS: readonly Column<Repository>[] = [
  {
    id: 'name',
    width: ['9.5%', '15%'],
    header: 'Name',
    cell: ({ name, namespace }) => (
      <Link to="/repositories/$namespace/$name" params={{ namespace, name }}>
        <MiddleText>{name}</MiddleText>
      </Link>
    ),
  },
  {
    id: 'namespace',
    width: ['10.5%', '16%'],
    header: 'Namespace',
    cell: ({ namespace }) => <MiddleText className={styles.namespace}>{namespace}</MiddleText>,
  },
  {
    id: 'url',
    width: ['18.5%', 'auto'],
    header: 'URL',
    cell: ({ url }) => (
      <span className={styles.oneLine}>
        <MiddleText>{url}</MiddleText>
        <CopyButton text={url} label="Copy the URL" />
      </span>
    ),
  },
  { id: 'type', width: ['4rem', '0'], header: 'Type', fold: 'medium', cell: ({ type }) => type },
  {
    id: 'charts',
    width: ['4.75rem', '3.75rem'],
    header: 'Charts',
    align: 'end',
    cell: ({ charts }) => (charts === null ? '-' : String(charts)),
  },
  {
    id: 'fetched',
    width: ['5.25rem', '0'],
    header: 'Fetched',
    fold: 'medium',
    cell: ({ lastFetched }) => <Time at={lastFetched} />,
  },
  { id: 'state', header: 'State', cell: (repository) => <RepositoryState repository={repository} /> },
  {
    id: 'usedBy',
    width: ['6.25rem', '0'],
    header: 'Used by',
    fold: 'medium',
    cell: (repository) => <UsedBy repository={repository} />,
  },
  {
    id: 'actions',
    width: ['calc(12.25rem + 2 * var(--target))', '10.5rem'],
    header: 'Actions',
    hidesLabel: true,
    cell: (repository) => <RepositoryActions repository={repository} isRow />,
  },
]

/** The saved chart repositories. */
export function RepositoriesPage(): ReactElement {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { page } = search
  const asked = { search: search.search, namespace: search.namespace, sort: 'name', page, per_page: ROWS }
  const answer = useQuery({
    ...repositoriesQuery(asked),
    refetchInterval: ({ state }) => (state.data?.content.some((each) => stateOf(each) === 'Pending') ? SOON : LATER),
  })
  const change = (part: Partial<RepositoriesSearch>): void =>
    void navigate({ search: (old) => ({ ...old, page: 1, ...part }), replace: true })
  const { query, note } = useLeftPage(answer, page, (wanted) => change({ page: wanted }))
  const clear = (): void => change({ search: '', namespace: [] })
  const [namespace, ...otherNamespaces] = search.namespace
  const addRight = useRightSomewhere('addRepository', otherNamespaces.length > 0 ? undefined : namespace)
  return (
    <Page
      title="Repositories"
      actions={
        <>
          <AsOf at={query.dataUpdatedAt} />
          <CopyAs
            curl={curlCommand({ method: 'GET', path: '/api/repositories', query: { ...asked, pretty: true } })}
            kubectl={kubectl(['get', 'chartrepositories', ...namespaceFlags(search.namespace)])}
          />
          <AddLink right={addRight} namespace={search.namespace[0] ?? ''} />
        </>
      }
    >
      <Filters search={search} onChange={change} onClear={clear} />
      {note}
      <QueryContent query={query} skeletonLines={6}>
        {(found) =>
          found.total_count === 0 ? (
            <NoRepositories
              isFiltered={search.search !== '' || search.namespace.length > 0}
              onClear={clear}
              addRight={addRight}
            />
          ) : (
            <>
              <DataTable
                caption="Repositories"
                columns={COLUMNS}
                rows={found.content}
                rowKey={({ namespace, name }) => `${namespace}/${name}`}
                isStale={query.isPlaceholderData}
              />
              <Pagination
                page={found.page}
                lastPage={found.last_page}
                total={found.total_count}
                perPage={ROWS}
                onPage={(wanted) => void navigate({ search: (old) => ({ ...old, page: wanted }) })}
              />
            </>
          )
        }
      </QueryContent>
    </Page>
  )
}

function namespaceFlags(namespaces: readonly string[]): readonly string[] {
  const [only, ...others] = namespaces
  return only === undefined || others.length > 0 ? ['--all-namespaces'] : ['-n', only]
}

function AddLink({ right, namespace }: { right: Right; namespace: string }): ReactElement {
  if (!right.allowed)
    return (
      <Button variant="primary" right={right}>
        Add
      </Button>
    )
  return (
    <ButtonLink to="/repositories/new" search={{ namespace }} variant="primary">
      Add
    </ButtonLink>
  )
}

interface FiltersProps {
  search: RepositoriesSearch
  onChange: (part: Partial<RepositoriesSearch>) => void
  onClear: () => void
}

function Filters({ search, onChange, onClear }: FiltersProps): ReactElement {
  const namespace = useFilterText(
    joinNames(search.namespace),
    (text) => onChange({ namespace: splitNames(text) }),
    (text) => joinNames(splitNames(text)),
  )
  const choices = useQuery(namespacesQuery(useDeferredValue(namespace.text), 'viewRepository'))
  return (
    <FilterBar
      search={
        <SearchField
          label="Search repositories"
          value={search.search}
          onChange={(text) => onChange({ search: text })}
        />
      }
      isSearched={search.search !== ''}
      active={search.namespace.length}
      onClear={onClear}
      onEnter={() => namespace.apply()}
    >
      <ComboBox
        label="Namespace"
        placeholder="all, or a name"
        items={(choices.data?.content ?? []).map(({ name }) => ({ id: name, label: name }))}
        value={namespace.text}
        onChange={namespace.setText}
        onSelect={(name) => namespace.apply(name)}
        onBlur={() => namespace.apply()}
        isFiltered
        read={{ what: 'namespaces', query: choices }}
      />
    </FilterBar>
  )
}

function NoRepositories({
  isFiltered,
  onClear,
  addRight,
}: {
  isFiltered: boolean
  onClear: () => void
  addRight: Right
}): ReactElement | null {
  const { right, isLoading } = usePermissions()
  if (isFiltered)
    return (
      <EmptyState title="No repository found" actions={<Button onPress={onClear}>Clear filters</Button>}>
        No repository matches all filters.
      </EmptyState>
    )
  if (isLoading) return null
  const add = <AddLink right={addRight} namespace="" />
  return (
    <NoneVisible
      title="No repositories that you may see"
      right={right('listRepositories')}
      actions={add}
      noneYet={
        <EmptyState title="No repositories yet" actions={add}>
          A repository is an address with charts to deploy. A chart file can be deployed without one.
        </EmptyState>
      }
    >
      A repository is an address with charts to deploy. You see those of namespaces in which you may list them.
    </NoneVisible>
  )
}
