import type { ReactElement } from 'react'

import type { Repository } from '~/api/queries/repositories'
import { rowMessage } from '~/lib/repositories/rowMessage'
import { Link } from '~/ui/Link'
import { StatusBadge } from '~/ui/StatusBadge'
import { MiddleText, Text } from '~/ui/Text'

import styles from './repositories.module.css'

/** Whether the operator could read the repository, in one word. */
export function stateOf({ ready, message }: Repository): 'Ready' | 'Pending' | 'Failed' {
  if (ready) return 'Ready'
  return message === null ? 'Pending' : 'Failed'
}

interface RepositoryStateProps {
  repository: Repository
  /** With the whole message. */
  isWhole?: boolean
}

/** The result of the last reading of the index. */
export function RepositoryState({ repository, isWhole = false }: RepositoryStateProps): ReactElement {
  const { message } = repository
  return (
    <div>
      <StatusBadge status={stateOf(repository)} isPlain={!isWhole} />
      {message !== null && (isWhole || !repository.ready) && (
        <div className={styles.muted}>
          {isWhole ? <Text multiline>{message}</Text> : <Text lines={2}>{rowMessage(message)}</Text>}
        </div>
      )}
    </div>
  )
}

const NAMES_SHOWN = 2

/** The xApps whose charts come from the repository. */
export function UsedBy({ repository, all = false }: { repository: Repository; all?: boolean }): ReactElement {
  const { usedBy, namespace } = repository
  if (usedBy === null) return <span className={styles.muted}>Not visible: needs list xapps</span>
  if (usedBy.count === 0) return <span className={styles.muted}>no xApp</span>
  const shown = all ? usedBy.names : usedBy.names.slice(0, NAMES_SHOWN)
  return (
    <ul>
      {shown.map((name) => (
        <li key={name}>
          <Link to="/xapps/$namespace/$name" params={{ namespace, name }}>
            <MiddleText>{name}</MiddleText>
          </Link>
        </li>
      ))}
      {usedBy.count > shown.length && (
        <li>
          {/* The search looks in the name of the repository too. */}
          <Link to="/xapps" search={{ namespace: [namespace], search: repository.name }}>
            {`${usedBy.count - shown.length} more`}
          </Link>
        </li>
      )}
    </ul>
  )
}
