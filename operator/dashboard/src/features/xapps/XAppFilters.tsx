import { useQuery } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { memo, useDeferredValue, useState, type ReactElement } from 'react'

import { FACET_VALUES_MAX, facetsQuery, type Facet } from '~/api/queries/facets'
import type { XAppsFilters } from '~/lib/routeSearch'
import { activeFilters, filtersOf, isFiltered, NO_FILTERS, withoutFilter } from '~/lib/xapps/listQuery'
import { Button, IconButton } from '~/ui/Button'
import { FilterMenu } from '~/ui/FilterMenu'
import { FilterSheet } from '~/ui/FilterSheet'
import { SearchField } from '~/ui/SearchField'
import { Text } from '~/ui/Text'

import styles from './XAppsPage.module.css'

interface XAppFiltersProps {
  search: XAppsFilters
  onChange: (part: Partial<XAppsFilters>) => void
  onMenu: (isOpen: boolean) => void
}

const FILTERS = [
  { facet: 'namespace', label: 'Namespace' },
  { facet: 'organization', label: 'Organization' },
  { facet: 'team', label: 'Team' },
  { facet: 'owner', label: 'Owner' },
  { facet: 'phase', label: 'Phase' },
  { facet: 'source', label: 'Source' },
] as const
const LABELS = new Map<string, string>(FILTERS.map(({ facet, label }) => [facet, label]))
const WITHOUT_PREFIX = new Set<Facet>(['phase', 'source'])

/** The search, the filters with the values that are in use, and those that are set. */
export const XAppFilters = memo(function XAppFilters({ search, onChange, onMenu }: XAppFiltersProps): ReactElement {
  const active = activeFilters(search)
  return (
    <div className={styles.filters}>
      <SearchField
        label="Search xApps"
        placeholder="Search name, organization, team, owner, chart, message"
        value={search.search}
        onChange={(text) => onChange({ search: text })}
      />
      <FilterSheet active={active.length} onClear={() => onChange(NO_FILTERS)}>
        {FILTERS.map(({ facet, label }) => (
          <FacetFilter key={facet} facet={facet} label={label} search={search} onChange={onChange} onMenu={onMenu} />
        ))}
      </FilterSheet>
      {isFiltered(search) && (
        <div className={styles.active}>
          {active.map((filter) => {
            const label = LABELS.get(filter.name) ?? filter.name
            return (
              <span key={`${filter.name} ${filter.value}`} className={styles.filter}>
                <span>
                  {label}: <Text>{filter.value}</Text>
                </span>
                <IconButton
                  size="small"
                  label={`Remove the filter ${label}: ${filter.value}`}
                  icon={<X size={14} aria-hidden />}
                  onPress={() => onChange(withoutFilter(search, filter))}
                />
              </span>
            )
          })}
          <Button size="small" variant="quiet" onPress={() => onChange(NO_FILTERS)}>
            Clear filters
          </Button>
        </div>
      )}
    </div>
  )
})

interface FacetFilterProps extends XAppFiltersProps {
  facet: (typeof FILTERS)[number]['facet']
  label: string
}

function FacetFilter({ facet, label, search, onChange, onMenu }: FacetFilterProps): ReactElement {
  const [isOpen, setOpen] = useState(false)
  const [prefix, setPrefix] = useState('')
  const filters = filtersOf(search, [facet])
  const query = useQuery({ ...facetsQuery([facet], filters, useDeferredValue(prefix)), enabled: isOpen })
  return (
    <FilterMenu
      label={label}
      selected={search[facet]}
      choices={query.data?.[facet] ?? []}
      limit={FACET_VALUES_MAX}
      read={{ what: `${label.toLowerCase()}s`, query }}
      onChange={(values) => onChange({ [facet]: values })}
      onPrefix={WITHOUT_PREFIX.has(facet) ? undefined : setPrefix}
      onOpenChange={(open) => {
        setOpen(open)
        onMenu(open)
      }}
    />
  )
}
