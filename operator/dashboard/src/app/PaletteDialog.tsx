import { useNavigate } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useEffect, useId, useState, type KeyboardEvent, type ReactElement } from 'react'

import { xappsQuery } from '~/api/queries/xapps'
import { describeError } from '~/lib/problem'
import { pageMenu, type PageMenu, type PageMenuItem } from '~/lib/pageMenus'
import { toast } from '~/lib/toasts'
import { copyText } from '~/ui/copyText'
import { Dialog } from '~/ui/Dialog'
import { Text } from '~/ui/Text'

import styles from './palette.module.css'

interface Entry {
  id: string
  label: string
  more: string
  /** It is found by these words too. */
  words?: string
  /** Why it is off now. */
  reason?: string | undefined
  run: () => void
}

const PAGES = [
  ['/xapps', 'xApps Management'],
  ['/deploy', 'Deploy'],
  ['/repositories', 'Repositories'],
  ['/repositories/new', 'Add a repository'],
  ['/services', 'Services'],
  ['/about', 'About'],
] as const
const API_DOCS = '/api/docs'
const FOUND_MAX = 10

/** Pages, actions of the open page, and xApps, found by typing. */
export function PaletteDialog({ onClose }: { onClose: () => void }): ReactElement {
  const navigate = useNavigate()
  const id = useId()
  const [text, setText] = useState('')
  const [current, setCurrent] = useState(0)
  // The buttons of the page as it was when the palette opened: then it is hidden behind the dialog.
  const [actions] = useState(actionsOfPage)
  const [ofHeader] = useState(actionsOfHeader)
  const typed = text.trim()
  const search = useDeferredValue(typed)
  const found = useQuery({ ...xappsQuery({ search, per_page: FOUND_MAX, sort: 'name' }), enabled: search !== '' })
  const pages: Entry[] = [
    ...PAGES.map(([to, label]) => ({ id: to, label, more: 'Page', run: () => void navigate({ to }) })),
    { id: API_DOCS, label: 'API', more: 'Page', run: () => window.location.assign(API_DOCS) },
  ]
  // Until the answer to this text is there, only what fits it of the one before: Enter must not open another xApp.
  const isCurrent = search === typed && !found.isPlaceholderData
  const xapps = typed === '' ? [] : (found.data?.content ?? []).filter(({ name }) => isCurrent || name.includes(typed))
  const entries: readonly Entry[] = [
    ...[...actions, ...pages, ...ofHeader].filter(({ label, words = '' }) =>
      `${words} ${label}`.toLowerCase().includes(typed.toLowerCase()),
    ),
    ...xapps.map(({ namespace, name, phase }) => ({
      id: `${namespace}/${name}`,
      label: name,
      more: `xApp in ${namespace}, ${phase}`,
      run: () => void navigate({ to: '/xapps/$namespace/$name', params: { namespace, name } }),
    })),
  ]
  const at = Math.min(current, Math.max(entries.length - 1, 0))
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, at])
  const choose = (entry: Entry | undefined): void => {
    if (entry === undefined) return
    if (entry.reason !== undefined) {
      void copyText(entry.reason).then((done) => done && toast('Copied the reason'))
      return
    }
    onClose()
    // The dialog is gone then, and gives the focus back first.
    setTimeout(entry.run)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && entries.length > 0) setCurrent((at + step + entries.length) % entries.length)
    else if (event.key === 'Enter') choose(entries[at])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Search or jump" isOpen onClose={onClose} width="medium">
      <input
        className={styles.input}
        role="combobox"
        aria-label="Page, action or xApp"
        aria-expanded={entries.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={entries.length > 0 ? `${id}-${at}` : undefined}
        aria-autocomplete="list"
        autoComplete="off"
        autoFocus
        placeholder="Page, action or xApp"
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setCurrent(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={`${id}-list`} aria-label="Found" className={styles.list}>
        {entries.map((entry, index) => (
          // eslint-disable-next-line jsx-a11y/click-events-have-key-events -- the keys are those of the field
          <div
            key={`${index} ${entry.id}`}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            aria-disabled={entry.reason !== undefined}
            className={styles.option}
            onClick={() => choose(entry)}
          >
            <Text>{entry.label}</Text>
            <span className={styles.more}>
              <Text>{entry.reason ?? entry.more}</Text>
            </span>
          </div>
        ))}
      </div>
      <p role="status" className={styles.more}>
        {found.error !== null
          ? `xApps could not be searched. ${describeError(found.error).detail}`
          : entries.length > 0
            ? ''
            : found.isFetching || !isCurrent
              ? 'Searching'
              : 'Nothing found'}
      </p>
    </Dialog>
  )
}

/**
 * What can be done on the open page: its buttons, links that look like buttons, and what its menus contain, outside of
 * tables and forms. A choice is no action.
 */
function actionsOfPage(): readonly Entry[] {
  const found = document.querySelectorAll<HTMLElement>(
    '#main button:not([aria-haspopup="listbox"]), #main a[data-action]',
  )
  const known = new Set([''])
  return [...found].flatMap((element, index): Entry[] => {
    const label = element.textContent.trim()
    if (known.has(label) || element.closest('table, nav, [role="tablist"], [role="group"]') !== null) return []
    // The same again, such as below a list that is empty.
    known.add(label)
    const { reason, menu } = element.dataset
    return [
      { id: `action-${index}`, label, more: 'Action of this page', reason, run: () => element.click() },
      ...entriesOf({ label, items: pageMenu(menu)?.items ?? [] }),
    ]
  })
}

/** What the menus of the header contain; the pages of the one for navigation are found as pages. */
function actionsOfHeader(): readonly Entry[] {
  const buttons = [...document.querySelectorAll<HTMLElement>('header [data-menu]')]
  return buttons
    .filter((button) => button.closest('nav, #main') === null)
    .flatMap((button) => {
      const menu = pageMenu(button.dataset.menu)
      return menu === undefined ? [] : entriesOf(menu)
    })
}

function entriesOf({ label, items }: PageMenu): readonly Entry[] {
  return items.flatMap((item) => (item === 'separator' ? [] : [actionOfMenu(label, item)]))
}

function actionOfMenu(menu: string, { id, label, right, isSelected = false, onAction }: PageMenuItem): Entry {
  const reason = right?.allowed === false ? (right.reason ?? 'Not possible now') : undefined
  const more = `In the menu ${menu}${isSelected ? ', chosen' : ''}`
  return { id: `${menu} ${id}`, label, words: menu, more, reason, run: onAction }
}
