import { useRouter } from '@tanstack/react-router'
import type { MouseEvent, ReactElement, ReactNode } from 'react'

import styles from './Link.module.css'

interface XAppLinkProps {
  namespace: string
  name: string
  children: ReactNode
}

/** A link to the page of an xApp for tables: unlike `Link` it does not render again whenever the address changes. */
export function XAppLink({ namespace, name, children }: XAppLinkProps): ReactElement {
  const router = useRouter()
  const open = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    void router.navigate({ to: '/xapps/$namespace/$name', params: { namespace, name } })
  }
  return (
    <a
      href={`/xapps/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`}
      className={styles.link}
      onClick={open}
    >
      {children}
    </a>
  )
}
