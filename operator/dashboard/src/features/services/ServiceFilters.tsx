import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, type ReactElement } from 'react'

import { namespacesQuery } from '~/api/queries/namespaces'
import type { FieldProblem } from '~/lib/problem'
import type { ServicesSearch } from '~/lib/routeSearch'
import { joinNames, splitNames } from '~/lib/searchParams'
import { ComboBox } from '~/ui/ComboBox'
import { FilterBar } from '~/ui/FilterBar'
import { SearchField } from '~/ui/SearchField'
import { TextField } from '~/ui/TextField'
import { useFilterText } from '~/ui/useFilterText'

interface ServiceFiltersProps {
  search: ServicesSearch
  /** What the gateway refused, by field. */
  errors: ReadonlyMap<string, readonly FieldProblem[]>
  onChange: (part: Partial<ServicesSearch>) => void
  onClear: () => void
}

/** The filters of the Services. They apply with Enter and when their field is left. */
export function ServiceFilters({ search, errors, onChange, onClear }: ServiceFiltersProps): ReactElement {
  const label = useFilterText(search.label, (text) => onChange({ label: text }))
  const port = useFilterText(search.port, (text) => onChange({ port: text }))
  const namespace = useFilterText(
    joinNames(search.namespace),
    (text) => onChange({ namespace: splitNames(text) }),
    (text) => joinNames(splitNames(text)),
  )
  const choices = useQuery(namespacesQuery(useDeferredValue(namespace.text), 'view'))
  const messages = (field: string): readonly string[] => (errors.get(field) ?? []).map(({ message }) => message)
  return (
    <FilterBar
      search={
        <SearchField label="Search Services" value={search.search} onChange={(text) => onChange({ search: text })} />
      }
      isSearched={search.search !== ''}
      active={filterCount(search)}
      onClear={onClear}
      onEnter={() => {
        namespace.apply()
        label.apply()
        port.apply()
      }}
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
        error={messages('namespace')}
      />
      <TextField
        label="Labels"
        value={label.text}
        onChange={label.setText}
        onBlur={() => label.apply()}
        placeholder="app=ric, tier!=test"
        error={messages('label')}
      />
      <TextField
        label="Port"
        value={port.text}
        onChange={port.setText}
        onBlur={() => port.apply()}
        placeholder="name or number"
        error={messages('port')}
      />
    </FilterBar>
  )
}

/** How many filters are set, without the search. */
export function filterCount({ namespace, label, port }: ServicesSearch): number {
  return namespace.length + [label, port].filter((text) => text !== '').length
}
