import { useQuery } from '@tanstack/react-query'
import type { ReactElement, ReactNode } from 'react'

import { aboutQuery, sessionQuery } from '~/api/queries/session'
import { permissionsQuery } from '~/api/usePermissions'
import { missingRightsText, type Permission } from '~/lib/rights'
import { RadioGroup, Switch } from '~/ui/Choices'
import { CopyButton } from '~/ui/CopyButton'
import { DataTable, type Column } from '~/ui/DataTable'
import { Notice } from '~/ui/Notice'
import { Page } from '~/ui/Page'
import { Card, Panel } from '~/ui/Panel'
import { StatusBadge } from '~/ui/StatusBadge'
import { Text } from '~/ui/Text'
import { Time } from '~/ui/Time'
import { usePreference } from '~/ui/usePreference'

import styles from './about.module.css'
import { inOrder, wordsOf } from './actions'

const KIB = 1024

/** The gateway, the session, the rights of the reader, and how the pages look. */
export function AboutPage(): ReactElement {
  const about = useQuery(aboutQuery)
  const session = useQuery(sessionQuery)
  const rights = useQuery(permissionsQuery())
  return (
    <Page title="About">
      <Looks />
      <Panel title="Gateway" query={about} skeletonLines={8}>
        {({ version, commit, kubernetes, address, limits, insecure }) => (
          <>
            {typeof insecure === 'string' && (
              <Notice tone="warn">
                <Text multiline>{insecure}</Text>
              </Notice>
            )}
            <dl className={styles.facts}>
              <Fact label="Version" value={version} />
              <Fact label="Commit" value={commit} />
              <Fact label="Kubernetes" value={kubernetes} />
              <Fact label="Address for xApps" value={address} />
              {limits !== undefined && (
                <>
                  <Fact label="Largest chart" value={`${limits.chartBytes / KIB} KiB`} />
                  <Fact label="Largest values" value={`${limits.valuesBytes / KIB} KiB`} />
                  <Fact label="Longest wait" value={`${limits.waitSeconds} s`} />
                  <Fact label="Longest read of a repository" value={`${limits.fetchSeconds} s`} />
                  <Fact label="Rows of a page" value={`at most ${limits.perPage}`} />
                </>
              )}
            </dl>
          </>
        )}
      </Panel>
      <Panel title="Session" query={session} skeletonLines={4}>
        {({ user, groups, auth, expiresAt }) => (
          <dl className={styles.facts}>
            <Fact label="User" value={user} />
            <Fact label="Groups" value={groups.join(', ')} />
            <Fact label="Sign-in" value={auth === 'none' ? 'Not needed' : 'Kubernetes token'} />
            <Entry label="Ends">{expiresAt === null ? 'not known' : <Time at={expiresAt} show="both" />}</Entry>
          </dl>
        )}
      </Panel>
      <Panel title="Your rights in all namespaces" query={rights}>
        {(found) => (
          <>
            <p>You may have more rights in single namespaces: the buttons there say so.</p>
            <DataTable caption="Rights" columns={COLUMNS} rows={inOrder(found)} rowKey={({ action }) => action} />
          </>
        )}
      </Panel>
    </Page>
  )
}

const COLUMNS: readonly Column<Permission>[] = [
  { id: 'about', header: 'About', cell: ({ action }) => wordsOf(action).about },
  { id: 'action', header: 'Action', cell: ({ action }) => <Text>{wordsOf(action).text}</Text> },
  {
    id: 'allowed',
    header: 'Allowed',
    cell: ({ allowed }) => <StatusBadge status={allowed ? 'yes' : 'no'} isPlain />,
  },
  {
    id: 'missing',
    header: 'What is missing',
    cell: ({ allowed, missing }) =>
      allowed ? (
        '-'
      ) : (
        <span className={styles.value}>
          <Text>{missingRightsText(missing)}</Text>
          <CopyButton text={missingRightsText(missing)} label="Copy the missing rights" />
        </span>
      ),
  },
]

function Looks(): ReactElement {
  const [keys, setKeys] = usePreference('keys')
  const [density, setDensity] = usePreference('density')
  const [theme, setTheme] = usePreference('theme')
  return (
    <Card title="Keys and looks">
      <div className={styles.looks}>
        <Switch
          label="Keys (press ? for the list)"
          isSelected={keys === 'on'}
          onChange={(isOn) => setKeys(isOn ? 'on' : 'off')}
        />
        <RadioGroup
          label="Rows"
          orientation="horizontal"
          items={[
            { id: 'normal', label: 'Normal' },
            { id: 'compact', label: 'Compact' },
          ]}
          value={density}
          onChange={(id) => setDensity(id as typeof density)}
        />
        <RadioGroup
          label="Theme"
          orientation="horizontal"
          items={[
            { id: 'system', label: 'As the system' },
            { id: 'light', label: 'Light' },
            { id: 'dark', label: 'Dark' },
          ]}
          value={theme}
          onChange={(id) => setTheme(id as typeof theme)}
        />
      </div>
    </Card>
  )
}

function Fact({ label, value }: { label: string; value: string | null | undefined }): ReactElement {
  return (
    <Entry label={label}>
      {value === null || value === undefined || value === '' ? (
        'not known'
      ) : (
        <>
          <Text>{value}</Text>
          <CopyButton text={value} label={`Copy ${label}`} />
        </>
      )}
    </Entry>
  )
}

function Entry({ label, children }: { label: string; children: ReactNode }): ReactElement {
  return (
    <>
      <dt>{label}</dt>
      <dd className={styles.value}>{children}</dd>
    </>
  )
}
