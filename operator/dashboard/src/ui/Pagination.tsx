import { ChevronFirst, ChevronLast, ChevronLeft, ChevronRight } from 'lucide-react'
import { memo, useEffect, useId, useState, type ReactElement } from 'react'

import { fieldErrors } from '~/lib/problem'
import { IconButton } from '~/ui/Button'
import { Notice } from '~/ui/Notice'
import type { QueryLike } from '~/ui/Panel'
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
export const Pagination = memo(function Pagination({
  page,
  lastPage,
  total,
  perPage,
  onPage,
  onPerPage,
  maxPerPage = 100,
}: PaginationProps): ReactElement {
  const first = total === 0 ? 0 : (page - 1) * perPage + 1
  return (
    <nav className={styles.pagination} aria-label="Pages">
      <span>
        {count(first)}-{count(Math.min(page * perPage, total))} of {count(total)}
      </span>
      {onPerPage !== undefined && <RowsOnPage perPage={perPage} maxPerPage={maxPerPage} onPerPage={onPerPage} />}
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
        <PageInput page={page} lastPage={lastPage} onPage={onPage} />
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
})

type RowsOnPageProps = Required<Pick<PaginationProps, 'perPage' | 'maxPerPage' | 'onPerPage'>>

const RowsOnPage = memo(function RowsOnPage({ perPage, maxPerPage, onPerPage }: RowsOnPageProps): ReactElement {
  const sizes = SIZES.filter((size) => size <= maxPerPage)
  return (
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
  )
})

/**
 * Leaves a page that the gateway does not have: the address is wrong, or its rows are gone by now. After rows it goes to
 * the page before, else to the first one; `onPage` replaces the address. Returns the query without that error, and a
 * note about the page that was left.
 */
export function useLeftPage<T, Q extends QueryLike<T>>(
  query: Q,
  page: number,
  onPage: (page: number) => void,
): { query: Q; note: ReactElement | null } {
  const [left, setLeft] = useState<{ from: number; to: number } | null>(null)
  const isLeaving = page > 1 && fieldErrors(query.error).has('page')
  const to = query.data === undefined ? 1 : page - 1
  if (isLeaving && left?.from !== page) setLeft({ from: page, to })
  useEffect(() => {
    if (isLeaving) onPage(to)
    // Once for each page that is left: callers need not keep `onPage`.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [isLeaving, page])
  const note =
    left?.to === page ? (
      <Notice isLive>
        There is no page {count(left.from)}. This is page {count(left.to)}.
      </Notice>
    ) : null
  return { query: isLeaving ? { ...query, error: null } : query, note }
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
  const shown = { page, text: String(page), isRefused: false }
  const [field, setField] = useState(shown)
  const id = useId()
  // Another page is shown: its number replaces what was typed. The element stays, and keeps the focus.
  if (field.page !== page) setField(shown)
  const go = (): void => {
    const wanted = Number(field.text.replaceAll(',', ''))
    const isPage = Number.isInteger(wanted) && wanted >= 1 && wanted <= lastPage
    if (!isPage) setField({ ...field, isRefused: true })
    else if (wanted === page) setField(shown)
    else onPage(wanted)
  }
  return (
    <>
      <input
        className={styles.input}
        aria-label="Page"
        aria-invalid={field.isRefused || undefined}
        aria-describedby={field.isRefused ? id : undefined}
        inputMode="numeric"
        value={field.text}
        onChange={(event) => setField({ ...field, text: event.target.value, isRefused: false })}
        onBlur={() => {
          if (field.text.trim() === '') setField(shown)
          else go()
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') go()
          if (event.key === 'Escape') setField(shown)
        }}
      />
      {field.isRefused && (
        <span role="alert" id={id} className={styles.refusal}>
          There is no such page: type a number from 1 to {count(lastPage)}.
        </span>
      )}
    </>
  )
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}
