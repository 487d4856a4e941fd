import { CircleCheck, CircleX, Info, TriangleAlert } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'

import { classes } from '~/ui/classes'

import styles from './Notice.module.css'

type NoticeTone = 'info' | 'ok' | 'warn' | 'bad'

const ICONS = { info: Info, ok: CircleCheck, warn: TriangleAlert, bad: CircleX } as const

interface NoticeProps {
  tone?: NoticeTone
  title?: ReactNode
  children?: ReactNode
  actions?: ReactNode
  /** Announced by screen readers when it appears. */
  isLive?: boolean
}

/** A remark in the page. */
export function Notice({ tone = 'info', title, children, actions, isLive = false }: NoticeProps): ReactElement {
  const Icon = ICONS[tone]
  return (
    <div className={classes(styles.notice, styles[tone])} role={isLive ? 'status' : undefined}>
      <Icon size={20} aria-hidden className={styles.icon} />
      <div className={styles.body}>
        {title !== undefined && <strong>{title}</strong>}
        {children}
      </div>
      {actions !== undefined && <div className={styles.actions}>{actions}</div>}
    </div>
  )
}

/** A remark that stays in view above the content, for example "3 new, 1 gone. Show". */
export function Bar({ tone = 'info', children, actions }: Omit<NoticeProps, 'title' | 'isLive'>): ReactElement {
  const Icon = ICONS[tone]
  return (
    <div className={classes(styles.bar, styles[tone])} role="status">
      <Icon size={16} aria-hidden className={styles.icon} />
      <span className={styles.body}>{children}</span>
      {actions !== undefined && <div className={styles.actions}>{actions}</div>}
    </div>
  )
}
