import { getRouteApi } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'

import { servicesQuery, type Service } from '~/api/queries/services'
import { usePermissions } from '~/api/usePermissions'
import { fieldErrors } from '~/lib/problem'
import type { ServicesSearch } from '~/lib/routeSearch'
import { Button } from '~/ui/Button'
import { DataTable, type Column } from '~/ui/DataTable'
import { EmptyState } from '~/ui/EmptyState'
import { CopyAs } from '~/ui/CopyAs'
import { Copyable } from '~/ui/Copyable'
import { ButtonLink, Link } from '~/ui/Link'
import { NoneVisible } from '~/ui/NoneVisible'
import { Page } from '~/ui/Page'
import { Pagination, useLeftPage } from '~/ui/Pagination'
import { QueryContent } from '~/ui/Panel'
import { MiddleText, Text } from '~/ui/Text'
import { AsOf } from '~/ui/Time'

import { filterCount, ServiceFilters } from './ServiceFilters'
import { serviceCommands } from './serviceCommands'
import { ServicePorts } from './ServicePorts'
import styles from './ServicesPage.module.css'

const route = getRouteApi('/services')
const READ_AGAIN_MILLISECONDS = 15_000
const NO_FILTER = { namespace: [] as readonly string[], label: '', port: '', search: '', page: 1 }

const COLUMNS: readonly Column<Service>[] = [
  { id: 'name', width: ['20%', '25%'], header: 'Name', cell: (service) => <ServiceName service={service} /> },
  {
    id: 'namespace',
    width: ['16%', '17%'],
    header: 'Namespace',
    cell: ({ namespace }) => <MiddleText>{namespace}</MiddleText>,
  },
  {
    id: 'type',
    width: ['7.75rem', '0'],
    header: 'Type',
    fold: 'medium',
    cell: ({ type }) => <Text lines={1}>{type ?? '-'}</Text>,
  },
  {
    id: 'address',
    width: ['9rem', '0'],
    header: 'Address',
    fold: 'medium',
    cell: (service) => <Address service={service} />,
  },
  { id: 'ports', header: 'Ports', cell: (service) => <ServicePorts service={service} /> },
  { id: 'xapp', width: ['15%', '18%'], header: 'xApp', cell: ({ xApp }) => <XAppLink xApp={xApp} /> },
]

/** Every Service of the monitored namespaces: where NETCONF, the message bus or metrics are reachable. */
export function ServicesPage(): ReactElement {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { namespace, label, port, page, per_page: perPage } = search
  const answer = useQuery({
    ...servicesQuery({ namespace, label, port, search: search.search, page, per_page: perPage }),
    refetchInterval: READ_AGAIN_MILLISECONDS,
  })
  const change = (part: Partial<ServicesSearch>): void =>
    void navigate({ search: (old) => ({ ...old, page: 1, ...part }), replace: true })
  const { query, note } = useLeftPage(answer, page, (wanted) => change({ page: wanted }))
  return (
    <Page
      title="Services"
      actions={
        <>
          <AsOf at={query.dataUpdatedAt} />
          <CopyAs {...serviceCommands(search)} />
        </>
      }
    >
      <ServiceFilters
        search={search}
        errors={fieldErrors(query.error)}
        onChange={change}
        onClear={() => change(NO_FILTER)}
      />
      {note}
      <QueryContent query={query} skeletonLines={10}>
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
                onPerPage={(rows) => void navigate({ search: (old) => ({ ...old, page: 1, per_page: rows }) })}
              />
            </>
          )
        }
      </QueryContent>
    </Page>
  )
}

/** The name; where there is no room for their columns, also the type and the address. */
function ServiceName({ service }: { service: Service }): ReactElement {
  const { name, namespace, type } = service
  const host = `${name}.${namespace}.svc`
  return (
    <span className={styles.name}>
      <Copyable text={host} label={`Copy ${host}`}>
        <MiddleText>{name}</MiddleText>
      </Copyable>
      <span className={styles.folded}>
        {type !== null && <Text>{type}</Text>}
        <Address service={service} />
      </span>
    </span>
  )
}

/** The cluster IP, or the name outside the cluster; a headless Service has neither. */
function Address({ service: { clusterIP, externalName } }: { service: Service }): ReactElement {
  const address = externalName ?? clusterIP
  if (address === 'None') return <Text lines={1}>headless: only its pods have addresses</Text>
  if (address === null) return <Text lines={1}>-</Text>
  return (
    <Copyable text={address} label={`Copy ${address}`}>
      <MiddleText>{address}</MiddleText>
    </Copyable>
  )
}

function NoServices({ isFiltered, onClear }: { isFiltered: boolean; onClear: () => void }): ReactElement {
  if (!isFiltered) return <NoneYet />
  return (
    <EmptyState title="No Service found" actions={<Button onPress={onClear}>Clear filters</Button>}>
      No Service matches all filters.
    </EmptyState>
  )
}

function NoneYet(): ReactElement | null {
  const { right, isLoading } = usePermissions()
  if (isLoading) return null
  return (
    <NoneVisible
      title="No Services that you may see"
      right={right('listServices')}
      noneYet={
        <EmptyState title="No Services yet" actions={<ButtonLink to="/xapps">All xApps</ButtonLink>}>
          An xApp has Services if its chart creates them.
        </EmptyState>
      }
    >
      You see the Services of namespaces in which you may list them.
    </NoneVisible>
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
