import type { ReactElement } from 'react'
import { setInteractionModality } from 'react-aria-components'

import type { XApp } from '~/api/queries/xapps'
import { rowReason } from '~/lib/xapps/rowReason'
import type { Column } from '~/ui/DataTable'
import { FoldedText } from '~/ui/FoldedText'
import { StatusBadge } from '~/ui/StatusBadge'
import { MiddleText, Text } from '~/ui/Text'
import { Time } from '~/ui/Time'
import { XAppLink } from '~/ui/XAppLink'

import styles from './XAppsPage.module.css'

/** The row whose menu is open. */
export interface OpenRow {
  xapp: XApp
  button: HTMLButtonElement
  /** The menu was opened by a key: the focus goes to its first item. */
  isByKey: boolean
}

/** Returns the columns of the list. They must stay the same: with others, all rows are drawn again. */
export function listColumns(onMenu: (row: OpenRow) => void): readonly Column<XApp>[] {
  return [
    ...COLUMNS,
    {
      id: 'actions',
      header: 'Actions',
      width: ['max(2.5rem, var(--target))', 'max(1.75rem, var(--target))'],
      isControl: true,
      // A plain button, and one menu for all rows: React Aria's would take most of the time that a page of rows takes.
      cell: (xapp) => (
        <button
          key={xapp.uid}
          type="button"
          className={styles.actions}
          aria-label={`Actions of ${xapp.name}`}
          aria-haspopup="menu"
          onClick={({ currentTarget, detail }) => {
            const isByKey = detail === 0
            // React Aria takes the click of a space bar for one of a screen reader, and would focus no item.
            if (isByKey) setInteractionModality('keyboard')
            onMenu({ xapp, button: currentTarget, isByKey })
          }}
        />
      ),
    },
  ]
}

/** Below 1280 px owner, team and revision stand below the name. */
const COLUMNS: readonly Column<XApp>[] = [
  {
    id: 'name',
    width: ['14.4%', '17.25%'],
    header: 'Name',
    sort: 'name',
    cell: (xapp) => <Name key={xapp.uid} xapp={xapp} />,
  },
  {
    id: 'organization',
    width: ['7.6%', '8.5%'],
    header: 'Org.',
    sort: 'organization',
    cell: ({ organization }) => plain(organization),
  },
  { id: 'team', width: ['6.1%', '0'], header: 'Team', sort: 'team', fold: 'medium', cell: ({ team }) => plain(team) },
  {
    id: 'version',
    width: ['5rem', '4rem'],
    header: 'Version',
    sort: 'version',
    cell: ({ version }) => plain(version),
  },
  {
    id: 'owner',
    width: ['5.85%', '0'],
    header: 'Owner',
    sort: 'owner',
    fold: 'medium',
    cell: ({ owner }) => <span className={styles.owner}>{plain(owner)}</span>,
  },
  {
    id: 'namespace',
    width: ['12.7%', '13.5%'],
    header: 'Namespace',
    sort: 'namespace',
    cell: ({ namespace }) => <MiddleText>{namespace}</MiddleText>,
  },
  {
    id: 'phase',
    width: ['7.25rem', '7rem'],
    header: 'Phase',
    sort: 'phase',
    cell: ({ phase }) => <Phase phase={phase} />,
  },
  { id: 'health', header: 'Health, reason', sort: 'health', cell: (xapp) => <Health xapp={xapp} /> },
  {
    id: 'revision',
    width: ['3.75rem', '0'],
    header: 'Rev.',
    align: 'end',
    fold: 'medium',
    cell: ({ release }) => release.revision ?? '-',
  },
  {
    id: 'age',
    width: ['4rem', '3.5rem'],
    header: 'Age',
    sort: 'created',
    align: 'end',
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
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
  return (
    <span className={styles.name}>
      <XAppLink namespace={namespace} name={name}>
        <MiddleText>{name}</MiddleText>
      </XAppLink>
      {source === 'labels' && <span className={styles.external}>External</span>}
      <span className={styles.owner}>
        <FoldedText
          parts={[team, owner, release.revision === null ? null : `revision ${release.revision}`]}
          lines={1}
        />
      </span>
    </span>
  )
}

function Health({ xapp }: { xapp: XApp }): ReactElement {
  const { health, ready, drifted } = xapp
  const reason = ready ? '' : rowReason(xapp)
  return (
    <span className={styles.health}>
      <span className={styles.badges}>
        <StatusBadge status={health} isPlain />
        {drifted === true && <StatusBadge status="Drifted" isPlain />}
      </span>
      {reason !== '' && (
        <span className={styles.message}>
          <Text lines={2}>{reason}</Text>
        </span>
      )}
    </span>
  )
}
