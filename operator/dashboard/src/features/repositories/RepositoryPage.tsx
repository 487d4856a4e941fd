import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'

import { chartsQuery, repositoryQuery, type ChartOfRepository, type Repository } from '~/api/queries/repositories'
import { useFetchLimit } from '~/api/useFetchLimit'
import { Problem } from '~/lib/problem'
import { isPathSegment } from '~/lib/query'
import { Button } from '~/ui/Button'
import { CopyButton } from '~/ui/CopyButton'
import { DataTable, type Column } from '~/ui/DataTable'
import { EmptyState } from '~/ui/EmptyState'
import { Link } from '~/ui/Link'
import { Notice } from '~/ui/Notice'
import { Page } from '~/ui/Page'
import { Pagination, useLeftPage } from '~/ui/Pagination'
import { Card, QueryContent } from '~/ui/Panel'
import { SearchField } from '~/ui/SearchField'
import { Tabs } from '~/ui/TabLinks'
import { MiddleText, Text } from '~/ui/Text'
import { TextField } from '~/ui/TextField'
import { AsOf, Time } from '~/ui/Time'

import { RepositoryActions } from './RepositoryActions'
import { RepositorySettings } from './RepositorySettings'
import { RepositoryState, stateOf, UsedBy } from './RepositoryState'
import styles from './repositories.module.css'

const route = getRouteApi('/repositories/$namespace/$name')
const ROWS = 50
const [SOON, EDITED, LATER] = [2000, 5000, 15_000]

/** One repository: its charts, and its settings. */
export function RepositoryPage(): ReactElement {
  const { namespace, name } = route.useParams()
  const { view } = route.useSearch()
  const navigate = useNavigate()
  const query = useQuery({
    ...repositoryQuery(namespace, name),
    refetchInterval: ({ state }) =>
      state.data !== undefined && stateOf(state.data) === 'Pending' ? SOON : view === 'settings' ? EDITED : LATER,
  })
  // What is typed stays, with what the repository was last.
  const isGone = query.data !== undefined && query.error instanceof Problem && query.error.status === 404
  return (
    <Page
      title={name}
      heading={<MiddleText>{name}</MiddleText>}
      breadcrumbs={
        <>
          <Link to="/repositories">Repositories</Link>
          {' / '}
          <Link to="/repositories" search={{ namespace: [namespace] }}>
            <MiddleText>{namespace}</MiddleText>
          </Link>
        </>
      }
      actions={
        query.data !== undefined && (
          <>
            <AsOf at={query.dataUpdatedAt} />
            <RepositoryActions
              repository={query.data}
              isGone={isGone}
              onRemoved={() => void navigate({ to: '/repositories', ignoreBlocker: true })}
            />
          </>
        )
      }
    >
      <QueryContent query={query} skeletonLines={4} ended={isGone ? <></> : undefined}>
        {(repository) => (
          <>
            {isGone && (
              <Notice tone="warn" title="This repository was removed">
                The page shows what it was last. Nothing that you typed is lost.
              </Notice>
            )}
            <Facts repository={repository} />
            <Tabs
              label="Views of the repository"
              selected={view}
              onSelect={(next) => void navigate({ to: '.', search: (old) => ({ ...old, view: next }), replace: true })}
              items={[
                { id: 'charts', label: 'Charts', content: <Charts repository={repository} /> },
                {
                  id: 'settings',
                  label: 'Settings',
                  content: (
                    <RepositorySettings repository={repository} isGone={isGone} refetch={() => void query.refetch()} />
                  ),
                },
              ]}
            />
          </>
        )}
      </QueryContent>
    </Page>
  )
}

function Facts({ repository }: { repository: Repository }): ReactElement {
  const { url, type, lastFetched, interval, verify } = repository
  return (
    <Card>
      <dl className={styles.facts}>
        <dt>URL</dt>
        <dd>
          <Text>{url}</Text>
          <CopyButton text={url} label="Copy the URL" />
        </dd>
        <dt>Type</dt>
        <dd>{type}</dd>
        <dt>State</dt>
        <dd>
          <RepositoryState repository={repository} isWhole />
        </dd>
        <dt>Fetched</dt>
        <dd>
          <Time at={lastFetched} show="both" />
          <span className={styles.muted}>{`every ${interval}`}</span>
        </dd>
        <dt>Access</dt>
        <dd>{accessText(repository)}</dd>
        <dt>Signatures</dt>
        <dd>
          {verify === null ? (
            'not checked'
          ) : (
            <Text>{`${verify.provider}, keys in Secret/${verify.secretRef.name}`}</Text>
          )}
        </dd>
        <dt>Used by</dt>
        <dd>
          <UsedBy repository={repository} all />
        </dd>
      </dl>
    </Card>
  )
}

function accessText(repository: Repository): string {
  return [
    repository.hasCredentials ? 'with credentials' : 'without credentials',
    repository.allowPlainHTTP ? 'sent over http too' : '',
    repository.hasCaBundle ? 'own certificates' : '',
    repository.insecureSkipTLSVerify ? 'any certificate' : '',
  ]
    .filter((part) => part !== '')
    .join(', ')
}

function Charts({ repository }: { repository: Repository }): ReactElement {
  return repository.type === 'oci' ? <ChartByName repository={repository} /> : <ChartList repository={repository} />
}

/** A registry has no list of its charts. */
function ChartByName({ repository: { namespace, name } }: { repository: Repository }): ReactElement {
  const navigate = useNavigate()
  const [chart, setChart] = useState('')
  const [isMissing, setMissing] = useState(false)
  return (
    <form
      className={styles.stack}
      onSubmit={(event) => {
        event.preventDefault()
        setMissing(chart.trim() === '')
        if (chart.trim() !== '')
          void navigate({
            to: '/repositories/$namespace/$name/$chart',
            params: { namespace, name, chart: chart.trim() },
          })
      }}
    >
      <Notice title="A registry (oci) cannot list its charts">Type the name of a chart to see its versions.</Notice>
      <div className={styles.fields}>
        <TextField
          label="Chart"
          value={chart}
          onChange={setChart}
          isRequired
          error={isMissing && chart.trim() === '' ? 'Type the name of a chart.' : null}
        />
      </div>
      <div className={styles.row}>
        <Button type="submit">Show versions</Button>
      </div>
    </form>
  )
}

function ChartList({ repository: { namespace, name } }: { repository: Repository }): ReactElement {
  const { search, page } = route.useSearch()
  const fetchSeconds = useFetchLimit()
  const navigate = route.useNavigate()
  const answer = useQuery({ ...chartsQuery(namespace, name, { search, page, per_page: ROWS }), retry: false })
  const setSearch = (text: string): void =>
    void navigate({ search: (old) => ({ ...old, search: text, page: 1 }), replace: true })
  const { query, note } = useLeftPage(
    answer,
    page,
    (wanted) => void navigate({ search: (old) => ({ ...old, page: wanted }), replace: true }),
  )
  const columns: readonly Column<ChartOfRepository>[] = [
    {
      id: 'name',
      header: 'Chart',
      cell: ({ name: chart }) =>
        isPathSegment(chart) ? (
          <Link to="/repositories/$namespace/$name/$chart" params={{ namespace, name, chart }}>
            <MiddleText>{chart}</MiddleText>
          </Link>
        ) : (
          <MiddleText>{chart}</MiddleText>
        ),
    },
    { id: 'latest', header: 'Latest', cell: ({ latest }) => <MiddleText>{latest}</MiddleText> },
    {
      id: 'app',
      header: 'App version',
      fold: 'medium',
      cell: ({ appVersion }) => <Text lines={2}>{appVersion ?? '-'}</Text>,
    },
    { id: 'versions', header: 'Versions', align: 'end', cell: ({ versions }) => String(versions) },
    { id: 'about', header: 'Description', cell: ({ description }) => <Text lines={2}>{description ?? '-'}</Text> },
  ]
  return (
    <div className={styles.stack}>
      <div className={styles.row}>
        <SearchField label="Search charts" value={search} onChange={setSearch} />
        <AsOf at={query.dataUpdatedAt} />
      </div>
      {note}
      <QueryContent
        query={query}
        skeletonLines={6}
        waitsFor="The gateway reads the index of the repository"
        waitsAtMost={fetchSeconds}
      >
        {(found) =>
          found.total_count === 0 ? (
            <EmptyState
              title={search === '' ? 'No charts' : 'No chart found'}
              actions={search === '' ? undefined : <Button onPress={() => setSearch('')}>Clear the search</Button>}
            >
              {search === '' ? 'The index of this repository lists no chart.' : 'No name or description matches.'}
            </EmptyState>
          ) : (
            <>
              <DataTable
                caption="Charts"
                columns={columns}
                rows={found.content}
                rowKey={(chart) => chart.name}
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
    </div>
  )
}
