import { getRouteApi } from '@tanstack/react-router'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import type { ReactElement } from 'react'

import { useChanges } from '~/api/changes'
import { xappsQuery, type XApp } from '~/api/queries/xapps'
import { DataTable, type Column } from '~/ui/DataTable'
import { EmptyState } from '~/ui/EmptyState'
import { ButtonLink, Link } from '~/ui/Link'
import { Page } from '~/ui/Page'
import { Pagination } from '~/ui/Pagination'
import { QueryContent } from '~/ui/Panel'
import { SearchField } from '~/ui/SearchField'
import { StatusBadge } from '~/ui/StatusBadge'
import { MiddleText, Text } from '~/ui/Text'
import { Time } from '~/ui/Time'

const route = getRouteApi('/xapps')
const ROWS = 50

const COLUMNS: readonly Column<XApp>[] = [
  {
    id: 'name',
    header: 'Name',
    sort: 'name',
    cell: ({ namespace, name }) => (
      <Link to="/xapps/$namespace/$name" params={{ namespace, name }}>
        <MiddleText>{name}</MiddleText>
      </Link>
    ),
  },
  { id: 'version', header: 'Version', cell: ({ version }) => <Text>{version ?? '-'}</Text> },
  { id: 'namespace', header: 'Namespace', cell: ({ namespace }) => <Text>{namespace}</Text> },
  { id: 'phase', header: 'Phase', sort: 'phase', cell: ({ phase }) => <StatusBadge status={phase} isPlain /> },
  { id: 'health', header: 'Health', sort: 'health', cell: ({ health }) => <StatusBadge status={health} isPlain /> },
  { id: 'age', header: 'Age', sort: 'created', align: 'end', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

export function XAppsPage(): ReactElement {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const client = useQueryClient()
  const query = useQuery(
    xappsQuery({
      search: search.search,
      sort: search.sort === 'created' ? null : search.sort,
      order: search.order === 'asc' ? null : search.order,
      page: search.page,
      per_page: search.per_page || ROWS,
    }),
  )
  const readAgain = (): void => void client.invalidateQueries({ queryKey: ['xapps', 'list'] })
  useChanges({ query: {}, onChange: readAgain, onReset: readAgain })
  return (
    <Page
      title="xApps Management"
      actions={
        <ButtonLink to="/deploy" variant="primary" icon={<Plus size={16} aria-hidden />}>
          Deploy xApp
        </ButtonLink>
      }
    >
      <SearchField
        label="Search xApps"
        value={search.search}
        onChange={(text) => void navigate({ search: (old) => ({ ...old, search: text, page: 1 }), replace: true })}
      />
      <QueryContent query={query} skeletonLines={10}>
        {(found) =>
          found.total_count === 0 ? (
            <EmptyState
              title={search.search === '' ? 'No xApps yet' : 'No xApp found'}
              actions={<ButtonLink to="/deploy">Deploy the first xApp</ButtonLink>}
            />
          ) : (
            <>
              <DataTable
                caption="xApps"
                columns={COLUMNS}
                rows={found.content}
                rowKey={({ uid }) => uid}
                sort={search.sort}
                order={search.order}
                onSort={(sort, order) =>
                  void navigate({ search: (old) => ({ ...old, sort: sort as typeof old.sort, order, page: 1 }) })
                }
                isStale={query.isPlaceholderData}
              />
              <Pagination
                page={found.page}
                lastPage={found.last_page}
                total={found.total_count}
                perPage={search.per_page || ROWS}
                onPage={(page) => void navigate({ search: (old) => ({ ...old, page }) })}
                onPerPage={(rows) => void navigate({ search: (old) => ({ ...old, per_page: rows, page: 1 }) })}
              />
            </>
          )
        }
      </QueryContent>
    </Page>
  )
}
