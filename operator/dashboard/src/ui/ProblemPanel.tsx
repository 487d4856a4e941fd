import { CircleX, RotateCw } from 'lucide-react'
import { Fragment, type ReactElement, type ReactNode } from 'react'

import { nextPages, type NextPage } from '~/lib/nextPages'
import { describeError, Problem, reportOf } from '~/lib/problem'
import { Button } from '~/ui/Button'
import { CopyButton } from '~/ui/CopyButton'
import { ButtonLink, Link } from '~/ui/Link'
import { Text } from '~/ui/Text'

import styles from './ProblemPanel.module.css'

interface ProblemPanelProps {
  error: unknown
  onRetry?: () => void
  isRetrying?: boolean
  /** The next step, as a button or link. */
  actions?: ReactNode
}

/** An error in the place where its content would be: what was refused and why, Retry, Copy report. */
export function ProblemPanel({ error, onRetry, isRetrying = false, actions }: ProblemPanelProps): ReactElement {
  const { title, detail } = describeError(error)
  return (
    <div className={styles.panel} role="alert">
      <CircleX size={20} aria-hidden className={styles.icon} />
      <div className={styles.body}>
        <strong>
          <Text>{title}</Text>
        </strong>
        {detail !== '' && (
          <p>
            <Text multiline>{detail}</Text>
          </p>
        )}
        <div className={styles.actions}>
          {actions}
          <PagesAfter error={error} />
          {onRetry !== undefined && (
            <Button size="small" icon={<RotateCw size={14} aria-hidden />} onPress={onRetry} isPending={isRetrying}>
              Retry
            </Button>
          )}
          {error instanceof Problem && error.needs !== '' && (
            <CopyButton text={error.needs} label="Copy the missing rights">
              Copy the rights
            </CopyButton>
          )}
          <CopyButton text={() => reportOf(error)} label="Copy report">
            Copy report
          </CopyButton>
        </div>
      </div>
    </div>
  )
}

/** Buttons to the pages that help after a refusal. */
export function PagesAfter({ error }: { error: unknown }): ReactElement[] {
  return pagesAfter(error).map(({ label, path }) => (
    <ButtonLink key={path} to={path} size="small">
      {label}
    </ButtonLink>
  ))
}

function pagesAfter(error: unknown): NextPage[] {
  return error instanceof Problem ? nextPages(error.next) : []
}

/** An error in one line, beside the button that caused it. */
export function ErrorText({ error }: { error: unknown }): ReactElement {
  const { title, detail } = describeError(error)
  return (
    <div className={styles.line} role="alert">
      <CircleX size={16} aria-hidden className={styles.icon} />
      <span>
        <Text>{title}</Text>
        {detail !== '' && (
          <>
            {': '}
            <Text>{detail}</Text>
          </>
        )}
        {pagesAfter(error).map(({ label, path }) => (
          <Fragment key={path}>
            {' '}
            <Link to={path}>{label}</Link>
          </Fragment>
        ))}
      </span>
      <CopyButton text={() => reportOf(error)} label="Copy report" />
    </div>
  )
}
