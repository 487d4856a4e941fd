import { getRouteApi } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'

import { chartVersionQuery, type ChartDescription } from '~/api/queries/charts'
import { versionsQuery, type ChartVersion } from '~/api/queries/repositories'
import { useFetchLimit } from '~/api/useFetchLimit'
import { usePermissions } from '~/api/usePermissions'
import { TextView } from '~/editor/lazy'
import { curlCommand } from '~/lib/commands'
import { apiPath } from '~/lib/query'
import { Button } from '~/ui/Button'
import { CopyAs } from '~/ui/CopyAs'
import { CopyButton } from '~/ui/CopyButton'
import { DataTable, type Column } from '~/ui/DataTable'
import { EmptyState } from '~/ui/EmptyState'
import { ButtonLink, Link } from '~/ui/Link'
import { Notice } from '~/ui/Notice'
import { Page } from '~/ui/Page'
import { Pagination, useLeftPage } from '~/ui/Pagination'
import { Panel, QueryContent } from '~/ui/Panel'
import { Skeleton } from '~/ui/Skeleton'
import { Tabs } from '~/ui/TabLinks'
import { MiddleText, Text } from '~/ui/Text'
import { Time } from '~/ui/Time'

import styles from './repositories.module.css'

const route = getRouteApi('/repositories/$namespace/$name/$chart')
const ROWS = 50
const DIGEST_SHOWN = 19
const KIB = 1024

/** One chart of a repository: its versions, and what one of them contains. */
export function ChartPage(): ReactElement {
  const { namespace, name, chart } = route.useParams()
  const { version, view, page } = route.useSearch()
  const navigate = route.useNavigate()
  const { query: versions, note } = useLeftPage(
    useQuery({ ...versionsQuery(namespace, name, chart, { page, per_page: ROWS }), retry: false }),
    page,
    (wanted) => void navigate({ search: (old) => ({ ...old, page: wanted }), replace: true }),
  )
  const fetchSeconds = useFetchLimit()
  const shown = version === '' ? newest(versions.data?.content ?? []) : version
  const description = useQuery({ ...chartVersionQuery(namespace, name, chart, shown), enabled: shown !== '' })
  const path = apiPath('api', 'repositories', namespace, name, 'charts', chart, 'versions')
  return (
    <Page
      title={chart}
      heading={<MiddleText>{chart}</MiddleText>}
      breadcrumbs={
        <>
          <Link to="/repositories">Repositories</Link>
          {' / '}
          <Link to="/repositories" search={{ namespace: [namespace] }}>
            <MiddleText>{namespace}</MiddleText>
          </Link>
          {' / '}
          <Link to="/repositories/$namespace/$name" params={{ namespace, name }}>
            <MiddleText>{name}</MiddleText>
          </Link>
        </>
      }
      actions={
        <>
          <CopyAs
            curl={curlCommand({
              method: 'GET',
              path: shown === '' ? path : `${path}/${encodeURIComponent(shown)}`,
              query: { pretty: true },
            })}
            kubectl={{ none: 'kubectl does not read chart repositories: use curl or helm show.' }}
          />
          <DeployLink version={shown} />
        </>
      }
    >
      {shown !== '' && (
        <Panel
          title={`Version ${shown}`}
          query={description}
          skeletonLines={4}
          waitsFor="The gateway reads the chart"
          waitsAtMost={fetchSeconds}
        >
          {(found) => <Facts chart={found} />}
        </Panel>
      )}
      {shown === '' && (versions.error !== null || versions.data === undefined) ? (
        <QueryContent
          query={versions}
          skeletonLines={6}
          waitsFor="The gateway reads the index of the repository"
          waitsAtMost={fetchSeconds}
        >
          {() => null}
        </QueryContent>
      ) : (
        <Tabs
          label="Views of the chart"
          selected={view}
          onSelect={(next) => void navigate({ search: (old) => ({ ...old, view: next }), replace: true })}
          items={[
            { id: 'readme', label: 'README', content: <TextOf kind="readme" query={description} /> },
            { id: 'values', label: 'Values', content: <TextOf kind="values" query={description} /> },
            { id: 'schema', label: 'Schema', content: <TextOf kind="schema" query={description} /> },
            {
              id: 'versions',
              label: `Versions${versions.data === undefined ? '' : ` ${versions.data.total_count}`}`,
              content: (
                <QueryContent query={versions} skeletonLines={6}>
                  {(found) =>
                    found.total_count === 0 ? (
                      <EmptyState title="No versions">The repository lists no version of this chart.</EmptyState>
                    ) : (
                      <>
                        {note}
                        <DataTable
                          caption={`Versions of ${chart}`}
                          columns={VERSION_COLUMNS}
                          rows={found.content}
                          rowKey={(row) => row.version}
                          currentRow={shown}
                          isStale={versions.isPlaceholderData}
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
              ),
            },
          ]}
        />
      )}
    </Page>
  )
}

/** The newest release, or else the newest pre-release. */
function newest(versions: readonly ChartVersion[]): string {
  const release = versions.find(({ version }) => !version.includes('-'))
  return (release ?? versions[0])?.version ?? ''
}

function DeployLink({ version }: { version: string }): ReactElement {
  const { namespace, name, chart } = route.useParams()
  const { right } = usePermissions(namespace)
  const deploy = right('deploy')
  if (!deploy.allowed)
    return (
      <Button variant="primary" right={deploy}>
        Deploy
      </Button>
    )
  return (
    <ButtonLink
      variant="primary"
      to="/deploy"
      search={{ method: 'repository', repository: `${namespace}/${name}`, chart, version, namespace }}
    >
      Deploy
    </ButtonLink>
  )
}

function VersionLink({ version }: { version: string }): ReactElement {
  const params = route.useParams()
  return (
    <Link to="/repositories/$namespace/$name/$chart" params={params} search={{ version }}>
      <MiddleText>{version}</MiddleText>
    </Link>
  )
}

const VERSION_COLUMNS: readonly Column<ChartVersion>[] = [
  { id: 'version', header: 'Version', cell: ({ version }) => <VersionLink version={version} /> },
  { id: 'app', header: 'App version', cell: ({ appVersion }) => <Text lines={2}>{appVersion ?? '-'}</Text> },
  { id: 'created', header: 'Created', cell: ({ created }) => <Time at={created} /> },
  { id: 'digest', header: 'Digest', cell: ({ digest }) => <Digest digest={digest} /> },
  { id: 'about', header: 'Description', cell: ({ description }) => <Text lines={2}>{description ?? '-'}</Text> },
]

function Digest({ digest }: { digest: string | null }): ReactElement {
  if (digest === null) return <span>-</span>
  return (
    <span className={styles.oneLine}>
      <code title={digest}>{`${digest.slice(0, DIGEST_SHOWN)}…`}</code>
      <CopyButton text={digest} label="Copy the digest" />
    </span>
  )
}

function Facts({ chart }: { chart: ChartDescription }): ReactElement {
  return (
    <div className={styles.stack}>
      {chart.description !== null && chart.description !== '' && (
        <p>
          <Text multiline>{chart.description}</Text>
        </p>
      )}
      {chart.warnings.map((warning, index) => (
        <Notice key={index} tone="warn">
          <Text multiline>{warning}</Text>
        </Notice>
      ))}
      <dl className={styles.facts}>
        <dt>App version</dt>
        <dd>
          <Text>{chart.appVersion ?? '-'}</Text>
        </dd>
        <dt>Size</dt>
        <dd>{chart.size === null ? '-' : `${Math.max(Math.round(chart.size / KIB), 1)} KiB`}</dd>
        <dt>Digest</dt>
        <dd>
          <Digest digest={chart.digest} />
        </dd>
        <dt>Charts inside</dt>
        <dd>
          <Text>{chart.dependencies.length === 0 ? 'none' : chart.dependencies.join(', ')}</Text>
        </dd>
      </dl>
    </div>
  )
}

const KINDS = {
  readme: { name: 'README', language: 'text' },
  values: { name: 'default values', language: 'yaml' },
  schema: { name: 'schema of the values', language: 'json' },
} as const

interface TextOfProps {
  kind: keyof typeof KINDS
  query: { data: ChartDescription | undefined; isFetching: boolean }
}

/** A text of the chart, as it is. */
function TextOf({ kind, query }: TextOfProps): ReactElement {
  const { name, language } = KINDS[kind]
  if (query.data === undefined) {
    return query.isFetching ? <Skeleton lines={6} /> : <EmptyState title={`The ${name} could not be read`} />
  }
  const { readme, valuesText, schema } = query.data
  const text = { readme, values: valuesText, schema: schema === null ? null : JSON.stringify(schema, null, 2) }[kind]
  if (text === null || text === '') return <EmptyState title={`This chart has no ${name}`} />
  return <TextView label={`The ${name}`} text={text} language={language} />
}
