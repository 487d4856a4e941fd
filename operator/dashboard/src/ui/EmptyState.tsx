import type { ReactElement, ReactNode } from 'react'

import styles from './EmptyState.module.css'

interface EmptyStateProps {
  title: string
  children?: ReactNode
  actions?: ReactNode
}

/** What stands in place of an empty list: why it is empty, and the next step. */
export function EmptyState({ title, children, actions }: EmptyStateProps): ReactElement {
  return (
    <div className={styles.empty}>
      <strong>{title}</strong>
      {children !== undefined && <div className={styles.body}>{children}</div>}
      {actions !== undefined && <div className={styles.actions}>{actions}</div>}
    </div>
  )
}
