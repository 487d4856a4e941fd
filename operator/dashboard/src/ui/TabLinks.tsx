import { useRouter } from '@tanstack/react-router'
import { useEffect, useRef, type ReactElement, type ReactNode } from 'react'
import { Tab, TabList, TabPanel, Tabs as AriaTabs } from 'react-aria-components'

import styles from './TabLinks.module.css'

interface TabLinksProps {
  label: string
  /** The path of the open page: its link is scrolled into view where not all have room. */
  current: string
  children: ReactNode
}

/** A row of links that look like tabs; the children are `<Link>`s. The link of the open page has aria-current. */
export function TabLinks({ label, current, children }: TabLinksProps): ReactElement {
  const row = useRef<HTMLElement>(null)
  const router = useRouter()
  useEffect(() => {
    const showLink = (): void => {
      // Not by aria-current, which follows when the page has loaded.
      const link = [...(row.current?.children ?? [])].find((each) => each.getAttribute('href') === current)
      if (!row.current || !link) return
      const [outer, inner] = [row.current.getBoundingClientRect(), link.getBoundingClientRect()]
      row.current.scrollLeft += inner.left + inner.width / 2 - (outer.left + outer.width / 2)
    }
    showLink()
    // With Back, the router scrolls the row to where it was when the page was left.
    const stop = router.subscribe('onRendered', showLink)
    window.addEventListener('resize', showLink)
    return () => {
      stop()
      window.removeEventListener('resize', showLink)
    }
  }, [current, router])
  return (
    <nav ref={row} aria-label={label} className={styles.tabs}>
      {children}
    </nav>
  )
}

export interface TabItem<I extends string> {
  id: I
  label: ReactNode
  content: ReactNode
}

interface TabsProps<I extends string> {
  label: string
  items: readonly TabItem<I>[]
  selected: I
  onSelect: (id: I) => void
}

/** Tabs inside a page. Only the content of the selected tab is in the document. */
export function Tabs<I extends string>({ label, items, selected, onSelect }: TabsProps<I>): ReactElement {
  return (
    <AriaTabs
      selectedKey={selected}
      onSelectionChange={(key) => onSelect(String(key) as I)}
      keyboardActivation="manual"
      className={styles.box}
    >
      <TabList aria-label={label} className={styles.tabs}>
        {items.map(({ id, label: text }) => (
          <Tab key={id} id={id} className={styles.tab}>
            {text}
          </Tab>
        ))}
      </TabList>
      {items.map(({ id, content }) => (
        <TabPanel key={id} id={id} className={styles.panel}>
          {content}
        </TabPanel>
      ))}
    </AriaTabs>
  )
}
