import { useEffect, useRef, type ReactElement, type ReactNode } from 'react'

import { classes } from '~/ui/classes'

import styles from './Page.module.css'

const PRODUCT = 'xApps Management'
/** False until the first page was shown: the focus moves with navigation, not when the browser loads the page. */
let navigated = false

interface PageProps {
  /** Title of the document, and of the page if there is no `heading`. */
  title: string
  heading?: ReactNode
  /** Above the heading: where the page belongs. */
  breadcrumbs?: ReactNode
  actions?: ReactNode
  children: ReactNode
  /** `full` for logs and diffs, `text` for reading. */
  width?: 'normal' | 'full' | 'text'
}

/** A page: its heading takes the focus after navigation, so that screen readers say where one is. */
export function Page({ title, heading, breadcrumbs, actions, children, width = 'normal' }: PageProps): ReactElement {
  usePageTitle(title)
  const headingRef = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (navigated) headingRef.current?.focus()
    navigated = true
  }, [])
  return (
    <div className={classes(styles.page, styles[width])}>
      <header className={styles.header}>
        {breadcrumbs !== undefined && (
          <nav aria-label="Breadcrumbs" className={styles.breadcrumbs}>
            {breadcrumbs}
          </nav>
        )}
        <div className={styles.titleRow}>
          <h1 ref={headingRef} tabIndex={-1}>
            {heading ?? title}
          </h1>
          {actions !== undefined && <div className={styles.actions}>{actions}</div>}
        </div>
      </header>
      {children}
    </div>
  )
}

/** Sets the title of the document. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = title === PRODUCT ? PRODUCT : `${title} - ${PRODUCT}`
  }, [title])
}
