import { ChevronFirst, ChevronLast, ChevronLeft, ChevronRight } from 'lucide-react'
import { useState, type ReactElement } from 'react'

import { fieldErrors } from '~/lib/problem'
import { Button, IconButton } from '~/ui/Button'
import { Select } from '~/ui/Select'

import styles from './Pagination.module.css'

interface PaginationProps {
  page: number
  lastPage: number
  total: number
  perPage: number
  onPage: (page: number) => void
  onPerPage?: (perPage: number) => void
  /** The largest page that the gateway gives. */
  maxPerPage?: number
}

const SIZES = [10, 25, 50, 100]

/** "1-50 of 10,000", the number of rows, and the pages. */
export function Pagination({
  page,
  lastPage,
  total,
  perPage,
  onPage,
  onPerPage,
  maxPerPage = 100,
}: PaginationProps): ReactElement {
  const first = total === 0 ? 0 : (page - 1) * perPage + 1
  const sizes = SIZES.filter((size) => size <= maxPerPage)
  return (
    <nav className={styles.pagination} aria-label="Pages">
      <span>
        {count(first)}-{count(Math.min(page * perPage, total))} of {count(total)}
      </span>
      {onPerPage !== undefined && (
        <span className={styles.rows}>
          <span aria-hidden>Rows</span>
          <Select
            label="Rows on a page"
            hidesLabel
            size="small"
            value={String(perPage)}
            items={[...new Set([...sizes, perPage])]
              .sort((a, b) => a - b)
              .map((size) => ({ id: String(size), label: String(size) }))}
            onChange={(size) => onPerPage(Number(size))}
          />
        </span>
      )}
      <span className={styles.buttons}>
        <PageButton
          label="First page"
          icon={<ChevronFirst size={16} aria-hidden />}
          to={1}
          current={page}
          onPage={onPage}
          last={lastPage}
        />
        <PageButton
          label="Previous page"
          icon={<ChevronLeft size={16} aria-hidden />}
          to={page - 1}
          current={page}
          onPage={onPage}
          last={lastPage}
        />
        <PageInput key={page} page={page} lastPage={lastPage} onPage={onPage} />
        <span>of {count(lastPage)}</span>
        <PageButton
          label="Next page"
          icon={<ChevronRight size={16} aria-hidden />}
          to={page + 1}
          current={page}
          onPage={onPage}
          last={lastPage}
        />
        <PageButton
          label="Last page"
          icon={<ChevronLast size={16} aria-hidden />}
          to={lastPage}
          current={page}
          onPage={onPage}
          last={lastPage}
        />
      </span>
    </nav>
  )
}

/** The next step where the page of the address is gone: there are fewer rows by now. Null for other errors. */
export function FirstPageButton({ error, onPage }: { error: unknown; onPage: () => void }): ReactElement | null {
  return fieldErrors(error).has('page') ? (
    <Button size="small" onPress={onPage}>
      First page
    </Button>
  ) : null
}

interface PageButtonProps {
  label: string
  icon: ReactElement
  to: number
  current: number
  last: number
  onPage: (page: number) => void
}

function PageButton({ label, icon, to, current, last, onPage }: PageButtonProps): ReactElement {
  const isPossible = to >= 1 && to <= last && to !== current
  const reason = current === 1 && to <= 1 ? 'This is the first page' : 'This is the last page'
  return (
    <IconButton
      label={label}
      icon={icon}
      size="small"
      right={isPossible ? undefined : { allowed: false, reason }}
      onPress={() => onPage(to)}
    />
  )
}

function PageInput({ page, lastPage, onPage }: Pick<PaginationProps, 'page' | 'lastPage' | 'onPage'>): ReactElement {
  const [text, setText] = useState(String(page))
  const go = (): void => {
    const wanted = Number(text)
    if (Number.isInteger(wanted) && wanted >= 1 && wanted <= lastPage && wanted !== page) onPage(wanted)
    else setText(String(page))
  }
  return (
    <input
      className={styles.input}
      aria-label="Page"
      inputMode="numeric"
      value={text}
      onChange={(event) => setText(event.target.value)}
      onBlur={go}
      onKeyDown={(event) => {
        if (event.key === 'Enter') go()
      }}
    />
  )
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}
