import type { ReactElement } from 'react'

import type { XApp } from '~/api/queries/xapps'
import { rowReason } from '~/lib/xapps/rowReason'
import type { Column } from '~/ui/DataTable'
import { StatusBadge } from '~/ui/StatusBadge'
import { MiddleText, Text } from '~/ui/Text'
import { Time } from '~/ui/Time'
import { XAppLink } from '~/ui/XAppLink'

import styles from './XAppsPage.module.css'

/** The columns of the list. Below 1280 px owner, team and revision stand below the name. */
export const COLUMNS: readonly Column<XApp>[] = [
  { id: 'name', header: 'Name', sort: 'name', cell: (xapp) => <Name xapp={xapp} /> },
  { id: 'organization', header: 'Org.', sort: 'organization', cell: ({ organization }) => plain(organization) },
  { id: 'team', header: 'Team', sort: 'team', fold: 'medium', cell: ({ team }) => plain(team) },
  { id: 'version', header: 'Version', sort: 'version', cell: ({ version }) => plain(version) },
  { id: 'owner', header: 'Owner', sort: 'owner', fold: 'medium', cell: ({ owner }) => plain(owner) },
  { id: 'namespace', header: 'Namespace', sort: 'namespace', cell: ({ namespace }) => plain(namespace) },
  { id: 'phase', header: 'Phase', sort: 'phase', cell: ({ phase }) => <Phase phase={phase} /> },
  { id: 'health', header: 'Health, reason', sort: 'health', cell: (xapp) => <Health xapp={xapp} /> },
  {
    id: 'revision',
    header: 'Rev.',
    align: 'end',
    fold: 'medium',
    cell: ({ release }) => release.revision ?? '-',
  },
  { id: 'age', header: 'Age', sort: 'created', align: 'end', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

function plain(text: string | null): ReactElement {
  return <Text lines={1}>{text ?? '-'}</Text>
}

function Phase({ phase }: { phase: string }): ReactElement {
  return (
    <span className={styles.phase}>
      <StatusBadge status={phase} isPlain />
    </span>
  )
}

function Name({ xapp }: { xapp: XApp }): ReactElement {
  const { namespace, name, source, team, owner, release } = xapp
  const more = [team, owner, release.revision === null ? null : `revision ${release.revision}`]
  return (
    <span className={styles.name}>
      <XAppLink namespace={namespace} name={name}>
        <MiddleText>{name}</MiddleText>
      </XAppLink>
      {source === 'labels' && <span className={styles.external}>External</span>}
      <span className={styles.folded}>
        <Text lines={1}>{more.filter((text) => text !== null && text !== '').join(', ')}</Text>
      </span>
    </span>
  )
}

function Health({ xapp: { health, ready, message } }: { xapp: XApp }): ReactElement {
  return (
    <span className={styles.health}>
      <StatusBadge status={health} isPlain />
      {!ready && message !== null && message !== '' && (
        <span className={styles.message}>
          <Text lines={2}>{rowReason(message)}</Text>
        </span>
      )}
    </span>
  )
}
