import { getRouteApi } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { memo, useCallback, useEffect, useRef, useState, type ReactElement, type Ref } from 'react'

import { changesHeardAt } from '~/api/changes'
import type { XApp } from '~/api/queries/xapps'
import { curlCommand } from '~/lib/commands'
import { listedXApps } from '~/lib/listedXApps'
import type { XAppsFilters, XAppsSearch } from '~/lib/routeSearch'
import { useStore } from '~/lib/useStore'
import { filterSearch, filtersOf, isFiltered, NO_FILTERS } from '~/lib/xapps/listQuery'
import { Button } from '~/ui/Button'
import { classes } from '~/ui/classes'
import { CopyAs } from '~/ui/CopyAs'
import { DataTable, toggled } from '~/ui/DataTable'
import { lazyDialog, lazyPart } from '~/ui/lazyPart'
import { Bar } from '~/ui/Notice'
import { Page } from '~/ui/Page'
import { Pagination, useLeftPage } from '~/ui/Pagination'
import { QueryContent } from '~/ui/Panel'
import { AsOf } from '~/ui/Time'
import { useNow } from '~/ui/useNow'

import { listColumns, type OpenRow } from './columns'
import { DeployLink } from './DeployLink'
import { HealthChips } from './HealthChips'
import { useListKeys } from './useListKeys'
import { useLiveList } from './useLiveList'
import { useUninstallRight } from './useUninstallRight'
import { XAppFilters } from './XAppFilters'
import styles from './XAppsPage.module.css'

const NoXApps = lazyPart('the empty list', async () => (await import('./NoXApps')).NoXApps)
const RowMenu = lazyDialog('Actions', async () => (await import('./RowMenu')).RowMenu)
const UninstallDialog = lazyDialog('Uninstall', async () => (await import('./UninstallDialog')).UninstallDialog)

const route = getRouteApi('/xapps')
const NO_ROWS: readonly XApp[] = []
const READ_AT_MILLISECONDS = 5000
const NONE: ReadonlySet<string> = new Set()

/** The list of xApps. The server filters, sorts and pages; the URL holds what is shown. */
export function XAppsPage(): ReactElement {
  const search = route.useSearch()
  const shownFilters = route.useSearch({ select: filterSearch })
  const navigate = route.useNavigate()
  const [selected, setSelected] = useState<ReadonlyMap<string, XApp>>(new Map())
  const [isUninstalling, setUninstalling] = useState(false)
  const [left, setLeft] = useState<ReadonlySet<string>>(NONE)
  const [row, setRow] = useState<OpenRow | null>(null)
  const [columns] = useState(() => listColumns(setRow))
  const isMenuOpen = useRef(false)
  const table = useRef<HTMLDivElement>(null)
  const selection = useRef<HTMLDivElement>(null)
  const wasUninstalling = useRef(false)
  const lastRow = useRef<{ button: HTMLElement; isGoing?: boolean } | null>(null)
  useEffect(() => {
    const hasNoButton = !isUninstalling && wasUninstalling.current && selected.size === 0
    const closed = row === null ? lastRow.current : null
    // The button that opened the dialog goes with the selection, or with its row: the focus stays near by.
    const place = hasNoButton || closed?.isGoing === true ? (selection.current ?? heading()) : closed?.button
    place?.focus({ preventScroll: true })
    wasUninstalling.current = isUninstalling
    lastRow.current = row
  }, [isUninstalling, selected, row])

  const filters = filtersOf(search)
  const query = {
    ...filters,
    sort: search.sort === 'created' ? null : search.sort,
    order: search.order === 'asc' ? null : search.order,
    page: search.page,
    per_page: search.per_page,
  }
  const isBusy = (): boolean =>
    isMenuOpen.current ||
    row !== null ||
    selected.size > 0 ||
    table.current?.matches(':hover') === true ||
    table.current?.contains(document.activeElement) === true
  const deselect = (uid: string): void =>
    setSelected((before) => (before.has(uid) ? new Map([...before].filter(([key]) => key !== uid)) : before))
  const onGone = (uid: string): void => {
    deselect(uid)
    if (isUninstalling || row !== null) setLeft((before) => new Set(before).add(uid))
  }
  const live = useLiveList({ query, filters, isBusy, onGone })
  const { answer } = live
  const rows = answer.data?.content ?? NO_ROWS

  const change = useCallback(
    (part: Partial<XAppsSearch>, replace = true): void =>
      void navigate({ search: (old) => ({ ...old, page: 1, ...part }), replace }),
    [navigate],
  )
  const changeFilter = useCallback((part: Partial<XAppsFilters>): void => change(part, false), [change])
  const onMenu = useCallback((isOpen: boolean): void => {
    isMenuOpen.current = isOpen
  }, [])
  const onPage = useCallback((page: number): void => change({ page }, false), [change])
  const onPerPage = useCallback((rows: number): void => change({ per_page: rows }, false), [change])
  const select = (keys: ReadonlySet<string>): void => {
    const known = [...selected.values(), ...rows]
    setSelected(new Map(known.filter(({ uid }) => keys.has(uid)).map((xapp) => [xapp.uid, xapp])))
  }
  const current = useListKeys(rows, (uid) => select(toggled(new Set(selected.keys()), uid)))
  const close = (): void => {
    setUninstalling(false)
    setRow(null)
    setLeft(NONE)
  }
  /** Selects what could not be uninstalled, beside what is selected still. */
  const selectFailed = (kept: readonly XApp[], failed: readonly XApp[]): void =>
    setSelected(new Map([...kept, ...failed].map((xapp) => [xapp.uid, xapp])))
  const showPending = (): void => {
    live.show()
    // The button goes with the bar.
    selection.current?.focus({ preventScroll: true })
  }
  const { query: shown, note } = useLeftPage(answer, search.page, (page) => change({ page }))
  const { data } = shown
  const isEmpty = data?.total_count === 0
  const hadRows = useRef(false)
  useEffect(() => {
    // The last rows go with what had the focus.
    if (isEmpty && hadRows.current && document.activeElement === document.body)
      heading()?.focus({ preventScroll: true })
    hadRows.current = !isEmpty && data !== undefined
  }, [isEmpty, data])
  useEffect(() => {
    if (data !== undefined)
      listedXApps.set({
        search,
        rows: data.content.map(({ namespace, name }) => ({ namespace, name })),
        lastPage: data.last_page,
      })
  }, [data, search])

  return (
    <Page
      title="xApps Management"
      heading={<Heading readAt={live.readAt} />}
      actions={<PageActions search={shownFilters} sort={search.sort} order={search.order} />}
    >
      <div className={styles.finding}>
        <HealthChips search={shownFilters} isReady={live.isReady} onChange={changeFilter} />
        <XAppFilters search={shownFilters} onChange={change} onMenu={onMenu} />
      </div>
      {note}
      <QueryContent query={shown} skeletonLines={10}>
        {(found) =>
          found.total_count === 0 ? (
            <NoXApps isFiltered={isFiltered(search)} onClear={() => changeFilter(NO_FILTERS)} />
          ) : (
            <>
              <div ref={table} className={styles.rows}>
                <DataTable
                  caption="xApps"
                  columns={columns}
                  rows={found.content}
                  rowKey={({ uid }) => uid}
                  rowLabel={({ name }) => name}
                  sort={search.sort}
                  order={search.order}
                  onSort={(sort, order) => change({ sort: sort as XAppsSearch['sort'], order }, false)}
                  selection={{ selected: new Set(selected.keys()), onChange: select }}
                  currentRow={current}
                  isStale={shown.isPlaceholderData}
                  reusesRows
                  isHeld={isBusy}
                />
              </div>
              <div className={classes(styles.foot, (selected.size > 0 || live.pending !== null) && styles.acting)}>
                <div className={styles.doing}>
                  {live.pending !== null && (
                    <div className={styles.pending}>
                      <Bar
                        actions={
                          <Button size="small" onPress={showPending}>
                            Show
                          </Button>
                        }
                      >
                        {live.pending}.
                      </Bar>
                    </div>
                  )}
                  <SelectionBar
                    ref={selection}
                    selected={[...selected.values()]}
                    rows={rows}
                    onUninstall={() => setUninstalling(true)}
                    onClear={() => setSelected(new Map())}
                  />
                </div>
                <Pagination
                  page={found.page}
                  lastPage={found.last_page}
                  total={found.total_count}
                  perPage={search.per_page}
                  onPage={onPage}
                  onPerPage={onPerPage}
                />
              </div>
            </>
          )
        }
      </QueryContent>
      {isUninstalling && (
        <UninstallDialog
          xapps={[...selected.values()]}
          left={left}
          onClose={close}
          onDone={(failed) => selectFailed([], failed)}
        />
      )}
      {row !== null && (
        <RowMenu
          row={{ ...row, xapp: rows.find(({ uid }) => uid === row.xapp.uid) ?? row.xapp }}
          left={left}
          onClose={close}
          onUninstalled={(failed) => {
            if (failed.length === 0) lastRow.current = { ...row, isGoing: true }
            selectFailed(
              [...selected.values()].filter(({ uid }) => uid !== row.xapp.uid),
              failed,
            )
          }}
        />
      )}
    </Page>
  )
}

function heading(): HTMLElement | null {
  return document.querySelector('h1')
}

/** The list is as old as its last answer, or as what the stream said last. */
function Heading({ readAt }: { readAt: () => number }): ReactElement {
  const heardAt = useStore(changesHeardAt)
  // The page does not render again for an answer that says the same.
  useNow(READ_AT_MILLISECONDS)
  return (
    <>
      xApps Management
      <AsOf at={Math.max(readAt(), heardAt)} />
    </>
  )
}

interface PageActionsProps extends Pick<XAppsSearch, 'sort' | 'order'> {
  search: XAppsFilters
}

const PageActions = memo(function PageActions({ search, sort, order }: PageActionsProps): ReactElement {
  return (
    <>
      <CopyAs
        curl={curlCommand({
          method: 'GET',
          path: '/api/xapps',
          query: { ...filtersOf(search), sort, order, per_page: 100 },
        })}
        kubectl={
          isFiltered(search)
            ? { none: 'kubectl cannot filter XApps by these fields: clear the filters, or copy as curl' }
            : 'kubectl get xapps --all-namespaces'
        }
      />
      <DeployLink variant="primary" icon={<Plus size={16} aria-hidden />}>
        Deploy xApp
      </DeployLink>
    </>
  )
})

interface SelectionBarProps {
  ref: Ref<HTMLDivElement>
  selected: readonly XApp[]
  rows: readonly XApp[]
  onUninstall: () => void
  onClear: () => void
}

function SelectionBar({ ref, selected, rows, onUninstall, onClear }: SelectionBarProps): ReactElement {
  const right = useUninstallRight(selected)
  const elsewhere = selected.filter(({ uid }) => !rows.some((row) => row.uid === uid)).length
  return (
    <div ref={ref} tabIndex={-1} className={styles.selection} role="status">
      {selected.length > 0 && (
        <>
          {selected.length} selected{elsewhere > 0 && `, ${elsewhere} not on this page`}
          <Button size="small" variant="danger" right={right} onPress={onUninstall}>
            Uninstall...
          </Button>
          <Button size="small" variant="quiet" onPress={onClear}>
            Clear
          </Button>
        </>
      )}
    </div>
  )
}
