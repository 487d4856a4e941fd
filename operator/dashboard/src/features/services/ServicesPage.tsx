import { getRouteApi } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState, type ReactElement } from 'react'

import { namespacesQuery } from '~/api/queries/namespaces'
import { servicesQuery, type Service } from '~/api/queries/services'
import { fieldErrors, type FieldProblem } from '~/lib/problem'
import type { ServicesSearch } from '~/lib/routeSearch'
import { Button } from '~/ui/Button'
import { ComboBox } from '~/ui/ComboBox'
import { DataTable, type Column } from '~/ui/DataTable'
import { EmptyState } from '~/ui/EmptyState'
import { FilterSheet } from '~/ui/FilterSheet'
import { Link } from '~/ui/Link'
import { Page } from '~/ui/Page'
import { Pagination } from '~/ui/Pagination'
import { QueryContent } from '~/ui/Panel'
import { SearchField } from '~/ui/SearchField'
import { MiddleText, Text } from '~/ui/Text'
import { TextField } from '~/ui/TextField'

import { ServicePorts } from './ServicePorts'
import styles from './ServicesPage.module.css'

const route = getRouteApi('/services')
const ROWS = 50
const NO_FILTER = { namespace: [] as readonly string[], label: '', port: '', search: '', page: 1 }

const COLUMNS: readonly Column<Service>[] = [
  { id: 'name', header: 'Name', cell: ({ name }) => <MiddleText>{name}</MiddleText> },
  { id: 'namespace', header: 'Namespace', cell: ({ namespace }) => <Text>{namespace}</Text> },
  { id: 'type', header: 'Type', fold: 'medium', cell: ({ type }) => <Text>{type ?? '-'}</Text> },
  { id: 'address', header: 'Cluster IP', fold: 'medium', cell: ({ clusterIP }) => <Text>{clusterIP ?? '-'}</Text> },
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
      <Filters
        key={`${namespace.join(' ')} ${label} ${port}`}
        search={search}
        errors={fieldErrors(query.error)}
        onChange={change}
      />
      <QueryContent query={query} skeletonLines={10}>
        {(found) =>
          found.total_count === 0 ? (
            <NoServices isFiltered={countOf(search) > 0} onClear={() => change(NO_FILTER)} />
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

interface FiltersProps {
  search: ServicesSearch
  errors: ReadonlyMap<string, readonly FieldProblem[]>
  onChange: (part: Partial<ServicesSearch>) => void
}

function Filters({ search, errors, onChange }: FiltersProps): ReactElement {
  const [label, setLabel] = useState(search.label)
  const [port, setPort] = useState(search.port)
  const [namespace, setNamespace] = useState(search.namespace.join(', '))
  const choices = useQuery(namespacesQuery(useDeferredValue(namespace), 'view'))
  const active = countOf(search)
  const messages = (field: string): readonly string[] => (errors.get(field) ?? []).map(({ message }) => message)
  const apply = (): void => {
    const names = namespace.split(/[\s,]+/).filter((name) => name !== '')
    if (label !== search.label || port !== search.port || names.join() !== search.namespace.join())
      onChange({ label, port, namespace: names })
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        apply()
      }}
    >
      <SearchField label="Search Services" value={search.search} onChange={(text) => onChange({ search: text })} />
      <FilterSheet active={active} onClear={() => onChange(NO_FILTER)}>
        <ComboBox
          label="Namespace"
          items={(choices.data?.content ?? []).map(({ name }) => ({ id: name, label: name }))}
          value={namespace}
          onChange={setNamespace}
          onSelect={(name) => onChange({ namespace: [name] })}
          onBlur={apply}
          isFiltered
          isLoading={choices.isFetching}
          error={messages('namespace')}
        />
        <TextField
          label="Labels"
          value={label}
          onChange={setLabel}
          onBlur={apply}
          placeholder="app=ric, tier!=test"
          error={messages('label')}
        />
        <TextField
          label="Port"
          value={port}
          onChange={setPort}
          onBlur={apply}
          placeholder="name or number"
          error={messages('port')}
        />
        {active > 0 && <Button onPress={() => onChange(NO_FILTER)}>Clear filters</Button>}
      </FilterSheet>
    </form>
  )
}

function NoServices({ isFiltered, onClear }: { isFiltered: boolean; onClear: () => void }): ReactElement {
  if (!isFiltered)
    return (
      <EmptyState title="No Services">
        You see the Services of namespaces in which you may list Services. Ask your cluster admin for the right to list
        Services if one is missing here.
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

function countOf({ namespace, label, port, search }: ServicesSearch): number {
  return namespace.length + [label, port, search].filter((text) => text !== '').length
}
