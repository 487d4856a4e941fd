import { getRouteApi } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'

import { servicesQuery, type Service } from '~/api/queries/services'
import { fieldErrors } from '~/lib/problem'
import type { ServicesSearch } from '~/lib/routeSearch'
import { Button } from '~/ui/Button'
import { CopyButton } from '~/ui/CopyButton'
import { DataTable, type Column } from '~/ui/DataTable'
import { EmptyState } from '~/ui/EmptyState'
import { Link } from '~/ui/Link'
import { Page } from '~/ui/Page'
import { FirstPageButton, Pagination } from '~/ui/Pagination'
import { QueryContent } from '~/ui/Panel'
import { MiddleText, Text } from '~/ui/Text'

import { filterCount, ServiceFilters } from './ServiceFilters'
import { ServicePorts } from './ServicePorts'
import styles from './ServicesPage.module.css'

const route = getRouteApi('/services')
const ROWS = 50
const MISSING_RIGHT = 'Needs: list services'
const NO_FILTER = { namespace: [] as readonly string[], label: '', port: '', search: '', page: 1 }

const COLUMNS: readonly Column<Service>[] = [
  { id: 'name', header: 'Name', cell: (service) => <ServiceName service={service} /> },
  {
    id: 'namespace',
    header: 'Namespace',
    cell: ({ namespace }) => <MiddleText className={styles.namespace}>{namespace}</MiddleText>,
  },
  {
    id: 'type',
    header: 'Type',
    fold: 'medium',
    cell: ({ type }) => <Text className={styles.whole}>{type ?? '-'}</Text>,
  },
  {
    id: 'address',
    header: 'Cluster IP',
    fold: 'medium',
    cell: ({ clusterIP }) => <Text className={styles.whole}>{clusterIP ?? '-'}</Text>,
  },
  { id: 'ports', header: 'Ports', cell: (service) => <ServicePorts service={service} /> },
  { id: 'xapp', header: 'xApp', cell: ({ xApp }) => <XAppLink xApp={xApp} /> },
]

/** Every Service of the monitored namespaces: where NETCONF, the message bus or metrics are reachable. */
export function ServicesPage(): ReactElement {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { namespace, label, port, page } = search
  const perPage = search.per_page || ROWS
  const query = useQuery(servicesQuery({ namespace, label, port, search: search.search, page, per_page: perPage }))
  const change = (part: Partial<ServicesSearch>): void =>
    void navigate({ search: (old) => ({ ...old, page: 1, ...part }), replace: true })
  return (
    <Page title="Services">
      <ServiceFilters
        search={search}
        errors={fieldErrors(query.error)}
        onChange={change}
        onClear={() => change(NO_FILTER)}
      />
      <QueryContent
        query={query}
        skeletonLines={10}
        errorActions={(error) => <FirstPageButton error={error} onPage={() => change({})} />}
      >
        {(found) =>
          found.total_count === 0 ? (
            <NoServices
              isFiltered={filterCount(search) > 0 || search.search !== ''}
              onClear={() => change(NO_FILTER)}
            />
          ) : (
            <>
              <DataTable
                caption="Services"
                columns={COLUMNS}
                rows={found.content}
                rowKey={(service) => `${service.namespace}/${service.name}`}
                isStale={query.isPlaceholderData}
              />
              <Pagination
                page={found.page}
                lastPage={found.last_page}
                total={found.total_count}
                perPage={perPage}
                onPage={(wanted) => void navigate({ search: (old) => ({ ...old, page: wanted }) })}
                onPerPage={(rows) => change({ per_page: rows })}
              />
            </>
          )
        }
      </QueryContent>
    </Page>
  )
}

/** The name; where there is no room for their columns, also the type and the address. */
function ServiceName({ service: { name, type, clusterIP } }: { service: Service }): ReactElement {
  return (
    <span className={styles.name}>
      <MiddleText>{name}</MiddleText>
      <span className={styles.folded}>
        <Text>{[type, clusterIP].filter((part) => part !== null).join(', ')}</Text>
      </span>
    </span>
  )
}

function NoServices({ isFiltered, onClear }: { isFiltered: boolean; onClear: () => void }): ReactElement {
  if (!isFiltered)
    return (
      <EmptyState
        title="No Services"
        actions={
          <CopyButton text={MISSING_RIGHT} label="Copy the missing right">
            Copy the missing right
          </CopyButton>
        }
      >
        You see the Services of namespaces in which you may list them. If some are missing, ask your cluster admin.{' '}
        {MISSING_RIGHT}.
      </EmptyState>
    )
  return (
    <EmptyState title="No Service found" actions={<Button onPress={onClear}>Clear filters</Button>}>
      No Service matches all filters.
    </EmptyState>
  )
}

function XAppLink({ xApp }: Pick<Service, 'xApp'>): ReactElement {
  if (xApp === null) return <span className={styles.muted}>-</span>
  return (
    <Link to="/xapps/$namespace/$name" params={{ namespace: xApp.namespace, name: xApp.name }}>
      <MiddleText>{xApp.name}</MiddleText>
    </Link>
  )
}
