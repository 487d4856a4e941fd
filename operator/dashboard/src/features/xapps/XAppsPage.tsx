import { getRouteApi } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { lazy, Suspense, useEffect, useRef, useState, type ReactElement } from 'react'

import { xappsQuery, type XApp } from '~/api/queries/xapps'
import { curlCommand } from '~/lib/commands'
import { listedXApps } from '~/lib/listedXApps'
import type { XAppsSearch } from '~/lib/routeSearch'
import { filtersOf, isFiltered, NO_FILTERS } from '~/lib/xapps/listQuery'
import { Button } from '~/ui/Button'
import { CopyAs } from '~/ui/CopyAs'
import { DataTable, toggled } from '~/ui/DataTable'
import { EmptyState } from '~/ui/EmptyState'
import { ButtonLink } from '~/ui/Link'
import { Bar } from '~/ui/Notice'
import { Page } from '~/ui/Page'
import { Pagination } from '~/ui/Pagination'
import { QueryContent } from '~/ui/Panel'
import { usePreference } from '~/ui/usePreference'

import { COLUMNS } from './columns'
import { HealthChips } from './HealthChips'
import { useListKeys } from './useListKeys'
import { useLiveList } from './useLiveList'
import { useUninstallRight } from './useUninstallRight'
import { XAppFilters } from './XAppFilters'
import styles from './XAppsPage.module.css'

const UninstallDialog = lazy(async () => ({ default: (await import('./UninstallDialog')).UninstallDialog }))

const route = getRouteApi('/xapps')
const NO_ROWS: readonly XApp[] = []

/** The list of xApps. The server filters, sorts and pages; the URL holds what is shown. */
export function XAppsPage(): ReactElement {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const [rowsPreference, setRows] = usePreference('rows')
  const perPage = search.per_page || Number(rowsPreference) || 50
  const [selected, setSelected] = useState<ReadonlyMap<string, XApp>>(new Map())
  const [isUninstalling, setUninstalling] = useState(false)
  const isMenuOpen = useRef(false)
  const table = useRef<HTMLDivElement>(null)

  const filters = filtersOf(search)
  const options = xappsQuery({
    ...filters,
    sort: search.sort === 'created' ? null : search.sort,
    order: search.order === 'asc' ? null : search.order,
    page: search.page,
    per_page: perPage,
  })
  const query = useQuery(options)
  const rows = query.data?.content ?? NO_ROWS
  const isBusy = (): boolean =>
    isMenuOpen.current ||
    selected.size > 0 ||
    table.current?.matches(':hover') === true ||
    table.current?.contains(document.activeElement) === true
  const live = useLiveList(options, filters, isBusy)

  const change = (part: Partial<XAppsSearch>, replace = true): void =>
    void navigate({ search: (old) => ({ ...old, page: 1, ...part }), replace })
  const select = (keys: ReadonlySet<string>): void => {
    const known = [...selected.values(), ...rows]
    setSelected(new Map(known.filter(({ uid }) => keys.has(uid)).map((xapp) => [xapp.uid, xapp])))
  }
  const current = useListKeys(rows, (uid) => select(toggled(new Set(selected.keys()), uid)))
  const { data } = query
  useEffect(() => {
    if (data !== undefined)
      listedXApps.set({
        search: { ...search, per_page: perPage },
        rows: data.content.map(({ namespace, name }) => ({ namespace, name })),
        lastPage: data.last_page,
      })
  }, [data, search, perPage])

  return (
    <Page title="xApps Management" actions={<PageActions search={search} />}>
      <HealthChips search={search} onChange={(part) => change(part, false)} />
      <XAppFilters search={search} onChange={change} onMenu={(isOpen) => (isMenuOpen.current = isOpen)} />
      {/* Its room is kept, so that no row moves when it comes. */}
      <div className={styles.pending}>
        {live.pending !== null && (
          <Bar
            actions={
              <Button size="small" onPress={live.show}>
                Show
              </Button>
            }
          >
            {live.pending}.
          </Bar>
        )}
      </div>
      <QueryContent query={query} skeletonLines={10}>
        {(found) =>
          found.total_count === 0 ? (
            <NoXApps isFiltered={isFiltered(search)} onClear={() => change(NO_FILTERS)} />
          ) : (
            <>
              <div ref={table}>
                <DataTable
                  caption="xApps"
                  columns={COLUMNS}
                  rows={found.content}
                  rowKey={({ uid }) => uid}
                  rowLabel={({ name }) => name}
                  sort={search.sort}
                  order={search.order}
                  onSort={(sort, order) => change({ sort: sort as XAppsSearch['sort'], order }, false)}
                  selection={{ selected: new Set(selected.keys()), onChange: select }}
                  currentRow={current}
                  isStale={query.isPlaceholderData}
                />
              </div>
              <div className={styles.foot}>
                <SelectionBar
                  selected={[...selected.values()]}
                  onUninstall={() => setUninstalling(true)}
                  onClear={() => setSelected(new Map())}
                />
                <Pagination
                  page={found.page}
                  lastPage={found.last_page}
                  total={found.total_count}
                  perPage={perPage}
                  onPage={(page) => change({ page }, false)}
                  onPerPage={(wanted) => {
                    setRows(String(wanted))
                    change({ per_page: 0 }, false)
                  }}
                />
              </div>
            </>
          )
        }
      </QueryContent>
      {isUninstalling && (
        <Suspense>
          <UninstallDialog
            xapps={[...selected.values()]}
            onClose={() => setUninstalling(false)}
            onDone={(failed) => setSelected(new Map(failed.map((xapp) => [xapp.uid, xapp])))}
          />
        </Suspense>
      )}
    </Page>
  )
}

function PageActions({ search }: { search: XAppsSearch }): ReactElement {
  return (
    <>
      <CopyAs
        curl={curlCommand({
          method: 'GET',
          path: '/api/xapps',
          query: { ...filtersOf(search), sort: search.sort, order: search.order, per_page: 100 },
        })}
        kubectl={
          isFiltered(search)
            ? { none: 'kubectl cannot filter XApps by these fields: clear the filters, or copy as curl' }
            : 'kubectl get xapps --all-namespaces'
        }
      />
      <ButtonLink to="/deploy" variant="primary" icon={<Plus size={16} aria-hidden />}>
        Deploy xApp
      </ButtonLink>
    </>
  )
}

interface SelectionBarProps {
  selected: readonly XApp[]
  onUninstall: () => void
  onClear: () => void
}

function SelectionBar({ selected, onUninstall, onClear }: SelectionBarProps): ReactElement {
  const right = useUninstallRight(selected)
  if (selected.length === 0) return <span />
  return (
    <div className={styles.selection} role="status">
      {selected.length} selected
      <Button size="small" variant="danger" right={right} onPress={onUninstall}>
        Uninstall...
      </Button>
      <Button size="small" variant="quiet" onPress={onClear}>
        Clear
      </Button>
    </div>
  )
}

function NoXApps({ isFiltered: isFound, onClear }: { isFiltered: boolean; onClear: () => void }): ReactElement {
  if (isFound)
    return (
      <EmptyState title="No xApp found" actions={<Button onPress={onClear}>Clear filters</Button>}>
        No xApp matches the search and all filters.
      </EmptyState>
    )
  return (
    <EmptyState title="No xApps yet" actions={<ButtonLink to="/deploy">Deploy the first xApp</ButtonLink>}>
      You see xApps of namespaces in which you may list them.
    </EmptyState>
  )
}
