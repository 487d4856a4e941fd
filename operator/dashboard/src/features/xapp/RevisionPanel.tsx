import { getRouteApi } from '@tanstack/react-router'
import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useEffect, useRef, type ReactElement } from 'react'

import {
  revisionDiffQuery,
  revisionQuery,
  xappPath,
  type RevisionDetails,
  type RevisionPart,
  type RevisionRow,
} from '~/api/queries/xappDetails'
import { DiffView, TextView } from '~/editor/lazy'
import { chartText, Entry, Fact, Facts, TimeFact } from '~/features/xapp/Facts'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { useEnded } from '~/features/xapp/useEnded'
import { curlCommand, kubectl } from '~/lib/commands'
import { IconButton } from '~/ui/Button'
import { CopyAs } from '~/ui/CopyAs'
import { CopyButton } from '~/ui/CopyButton'
import { Card, QueryContent } from '~/ui/Panel'
import { Select } from '~/ui/Select'
import { StatusBadge } from '~/ui/StatusBadge'
import { Tabs } from '~/ui/TabLinks'

import styles from './HistoryPage.module.css'

const route = getRouteApi('/xapps/$namespace/$name/history')

const PARTS: readonly { id: RevisionPart; label: string }[] = [
  { id: 'values', label: 'Values' },
  { id: 'manifest', label: 'Manifest' },
  { id: 'notes', label: 'Notes' },
]

interface RevisionPanelProps {
  revision: number
  /** The revision to compare with; null: show this one alone. */
  other: number | null
  known: readonly RevisionRow[]
  /** A person asked for it just now: it comes into view, and takes the focus. */
  isAsked: boolean
  onShown: () => void
}

/** One revision, or what differs between two. */
export function RevisionPanel({ revision, other, known, isAsked, onShown }: RevisionPanelProps): ReactElement {
  const title = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    if (!isAsked) return
    title.current?.focus({ preventScroll: true })
    title.current?.scrollIntoView({ block: 'start' })
    onShown()
  })
  const { id } = useOpenXApp()
  const { of } = route.useSearch()
  const navigate = route.useNavigate()
  const numbers = [...new Set([...known.map((each) => each.revision), revision, ...(other === null ? [] : [other])])]
  const items = numbers.toSorted((a, b) => b - a).map((number) => ({ id: String(number), label: String(number) }))
  const row = known.find((each) => each.revision === revision) ?? null
  const show = (next: { revision?: number | null; with?: number | null; of?: RevisionPart }): void =>
    void navigate({ search: (current) => ({ ...current, ...next }), replace: true })
  // Old to new, so that what was added is what came later.
  const [from, to] = other === null ? [revision, revision] : [Math.min(revision, other), Math.max(revision, other)]
  return (
    <Card
      level={3}
      title={
        <span ref={title} tabIndex={-1} className={styles.title}>
          {other === null ? `Revision ${revision}` : `From revision ${from} to ${to}`}
        </span>
      }
      actions={
        <>
          <CopyAs size="small" {...commandsFor(id, from, to, of)} />
          <IconButton
            label="Close"
            size="small"
            icon={<X size={16} aria-hidden />}
            onPress={() => show({ revision: null, with: null })}
          />
        </>
      }
    >
      <div className={styles.choices}>
        <Select
          label="Revision"
          size="small"
          value={String(revision)}
          items={items}
          onChange={(number) => show({ revision: Number(number), with: Number(number) === other ? null : other })}
        />
        <Select
          label="Compare with"
          size="small"
          value={other === null ? 'none' : String(other)}
          items={[{ id: 'none', label: 'nothing' }, ...items.filter((item) => item.id !== String(revision))]}
          onChange={(number) => show({ with: number === 'none' ? null : Number(number) })}
        />
      </div>
      {other === null && <FactsOf revision={revision} row={row} />}
      <Tabs
        label="Parts of a revision"
        selected={of}
        onSelect={(part) => show({ of: part })}
        items={PARTS.map(({ id: part, label }) => ({
          id: part,
          label,
          content:
            other === null ? (
              <Part revision={revision} status={row?.status ?? null} part={part} label={label} />
            ) : (
              <PartDiff from={from} to={to} part={part} label={label} />
            ),
        }))}
      />
    </Card>
  )
}

/** What the history knows of a revision, and what Helm keeps of it: also the whole error of one that failed. */
function FactsOf({ revision, row }: { revision: number; row: RevisionRow | null }): ReactElement | null {
  const { data } = useRevision(revision, row?.status ?? null)
  const found = data ?? row
  if (found === null) return null
  const { status, appVersion, deployedAt, description } = found
  const hasFailed = status === 'failed'
  return (
    <Facts label={`Facts of revision ${revision}`}>
      {status !== null && (
        <Entry label="Status">
          <StatusBadge status={status} isPlain />
        </Entry>
      )}
      <Fact label="Action" value={row?.action ?? null} />
      <Fact label="Chart" value={chartText(found)} />
      <Fact label="App version" value={appVersion} />
      <TimeFact label={hasFailed ? 'Tried' : 'Deployed'} at={deployedAt} />
      <Fact label={hasFailed ? 'Error' : 'Description'} value={description ?? row?.description ?? null} isLong />
    </Facts>
  )
}

/** What Helm keeps of a revision. */
function useRevision(revision: number, status: string | null): UseQueryResult<RevisionDetails> {
  const { id, goneAt } = useOpenXApp()
  return useQuery({ ...revisionQuery(id, revision, status), enabled: goneAt === null })
}

interface PartProps {
  revision: number
  status: string | null
  part: RevisionPart
  label: string
}

function Part({ revision, status, part, label }: PartProps): ReactElement {
  const ended = useEnded()
  const query = useRevision(revision, status)
  return (
    <QueryContent query={query} ended={ended} skeletonLines={6}>
      {({ valuesText, manifest, notes }) => {
        const text = { values: valuesText, manifest, notes }[part]
        if (text.trim() === '') return <p className={styles.remark}>{EMPTY[part]}</p>
        return (
          <>
            <span>
              <CopyButton text={text} label={`Copy ${label}`}>
                Copy
              </CopyButton>
            </span>
            <TextView
              label={`${label} of revision ${revision}`}
              text={text}
              language={part === 'notes' ? 'text' : 'yaml'}
            />
          </>
        )
      }}
    </QueryContent>
  )
}

const EMPTY: Readonly<Record<RevisionPart, string>> = {
  values: 'No values were given: the defaults of the chart were in force.',
  manifest: 'It has no objects.',
  notes: 'The chart has no notes.',
}

function PartDiff({
  from,
  to,
  part,
  label,
}: {
  from: number
  to: number
  part: RevisionPart
  label: string
}): ReactElement {
  const { id, goneAt } = useOpenXApp()
  const ended = useEnded()
  const query = useQuery({ ...revisionDiffQuery(id, from, to, part), enabled: goneAt === null })
  return (
    <QueryContent query={query} ended={ended} skeletonLines={6}>
      {(diff) => (
        <>
          {diff.truncated.includes(part) && <p className={styles.remark}>The diff is larger than 1 MiB and was cut.</p>}
          <DiffView
            diff={diff[part] ?? ''}
            label={`${label}: from revision ${from} to ${to}`}
            empty={`The ${label.toLowerCase()} of both revisions are equal.`}
          />
        </>
      )}
    </QueryContent>
  )
}

function commandsFor(
  id: { namespace: string; name: string },
  from: number,
  to: number,
  of: RevisionPart,
): { curl: string; kubectl: string | { none: string } } {
  const one = xappPath(id, 'history', String(from))
  return {
    curl:
      from === to
        ? curlCommand({ method: 'GET', path: one, query: { pretty: true } })
        : curlCommand({ method: 'GET', path: `${one}/diff/${to}`, query: { of, pretty: true } }),
    kubectl:
      from === to
        ? kubectl(['get', 'secret', '-n', id.namespace, '-l', `owner=helm,name=${id.name},version=${from}`])
        : { none: 'kubectl cannot compare revisions. Use helm: helm get values, helm get manifest' },
  }
}
