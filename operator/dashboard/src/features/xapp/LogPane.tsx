import { getRouteApi } from '@tanstack/react-router'
import { ArrowDown, ArrowUp, Download, Eraser } from 'lucide-react'
import { useCallback, useEffect, useRef, useState, type ReactElement } from 'react'

import { connection } from '~/api/connection'
import { xappPath, type LogOf } from '~/api/queries/xappDetails'
import { CROWDED } from '~/api/streamPlaces'
import { LogView, type LogViewHandle } from '~/editor/lazy'
import { TAIL } from '~/features/xapp/logChoice'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { useLog, type LogState } from '~/features/xapp/useLog'
import { parseAnsi } from '~/lib/ansi'
import { curlCommand, kubectl } from '~/lib/commands'
import { queryText } from '~/lib/query'
import { useStore } from '~/lib/useStore'
import { LogBuffer, lineText, logFileName } from '~/lib/xapp/logLines'
import { Button, IconButton } from '~/ui/Button'
import { Switch } from '~/ui/Choices'
import { CopyAs } from '~/ui/CopyAs'
import { CopyButton } from '~/ui/CopyButton'
import { ErrorText } from '~/ui/ProblemPanel'
import { saveText } from '~/ui/saveText'
import { SearchField } from '~/ui/SearchField'
import { unlessLeft } from '~/ui/unlessLeft'

import styles from './LogPane.module.css'

const route = getRouteApi('/xapps/$namespace/$name/logs')
const TAIL_SINCE = 10_000
const FIND_DELAY_MILLISECONDS = 400

interface LogPaneProps {
  log: LogOf
  since: string
  /** Whether there is no such pod any more. */
  isPodGone: boolean
}

/** One log with what can be done with it. */
export function LogPane({ log, since, isPodGone }: LogPaneProps): ReactElement {
  const { id, goneAt } = useOpenXApp()
  const { find, setFind } = useFind()
  const [isFollowed, setFollowed] = useState(true)
  const [wraps, setWraps] = useState(false)
  const [showsTimes, setShowsTimes] = useState(false)
  const [counts, setCounts] = useState(NO_LINES)
  const [buffer] = useState(() => new LogBuffer())
  const view = useRef<LogViewHandle | null>(null)
  const clear = (): void => {
    buffer.clear()
    setCounts(NO_LINES)
    view.current?.replace([])
  }
  /** Lines to ask for; null: as many as usual. */
  const [fewer, setFewer] = useState<number | null>(null)
  const state = useLog({
    path: goneAt === null ? logPath(id, log, since, fewer) : null,
    onTooLong: setFewer,
    followsRestarts: !log.previous,
    onLines: (lines) => {
      buffer.append(lines)
      setCounts({ kept: buffer.size, dropped: buffer.dropped })
      view.current?.append(
        lines.map((line) => lineText(line, showsTimes)),
        buffer.size,
      )
    },
    onReset: clear,
  })
  const show = (withTimes: boolean): void =>
    view.current?.replace(buffer.all().map((line) => lineText(line, withTimes)))
  const attach = useCallback(
    (handle: LogViewHandle | null) => {
      view.current = handle
      // The view loads while lines come already.
      if (handle !== null && buffer.size > 0 && handle.text() === '') {
        handle.replace(buffer.all().map((line) => lineText(line, showsTimes)))
      }
    },
    [buffer, showsTimes],
  )
  const text = (): string =>
    buffer
      .all()
      .map((line) => parseAnsi(lineText(line, showsTimes)).text)
      .join('\n')
  return (
    <>
      <div className={styles.tools}>
        <SearchField label="Find" value={find} onChange={setFind} onSubmit={() => view.current?.findNext()} />
        <IconButton
          label="Previous match"
          size="small"
          icon={<ArrowUp size={16} aria-hidden />}
          onPress={() => view.current?.findPrevious()}
        />
        <IconButton
          label="Next match"
          size="small"
          icon={<ArrowDown size={16} aria-hidden />}
          onPress={() => view.current?.findNext()}
        />
        {!log.previous && <Switch label="Follow" isSelected={isFollowed} onChange={setFollowed} />}
        <Switch label="Wrap" isSelected={wraps} onChange={setWraps} />
        <Switch
          label="Times"
          isSelected={showsTimes}
          onChange={(next) => {
            setShowsTimes(next)
            show(next)
          }}
        />
        <span className={styles.end}>
          <Button size="small" icon={<Eraser size={16} aria-hidden />} onPress={clear}>
            Clear
          </Button>
          <CopyButton text={text} label="Copy the log">
            Copy
          </CopyButton>
          <Button
            size="small"
            icon={<Download size={16} aria-hidden />}
            onPress={() => saveText(logFileName(log), `${text()}\n`)}
          >
            Save
          </Button>
          <CopyAs size="small" {...commandsFor(id, log, since)} />
        </span>
      </div>
      <div className={styles.log}>
        <LogView
          ref={attach}
          label={`Log of container ${log.container} of pod ${log.pod}`}
          wrap={wraps}
          follow={isFollowed}
          onFollowChange={setFollowed}
          find={find}
        />
      </div>
      <StateLine
        state={state}
        isPrevious={log.previous}
        isPodGone={isPodGone}
        kept={counts.kept}
        isCut={fewer !== null || counts.dropped > 0}
      />
    </>
  )
}

/** The text to find: typed here, and a moment later in the URL. */
function useFind(): { find: string; setFind: (find: string) => void } {
  const { find: given } = route.useSearch()
  const navigate = route.useNavigate()
  const [find, setFind] = useState(given)
  useEffect(() => {
    if (find.trim() === given) return undefined
    const timer = setTimeout(
      unlessLeft(() => void navigate({ search: (current) => ({ ...current, find }), replace: true })),
      FIND_DELAY_MILLISECONDS,
    )
    return () => clearTimeout(timer)
  }, [find, given, navigate])
  return { find, setFind }
}

interface LineCounts {
  kept: number
  dropped: number
}

const NO_LINES: LineCounts = { kept: 0, dropped: 0 }

interface StateLineProps {
  state: LogState
  isPrevious: boolean
  isPodGone: boolean
  kept: number
  isCut: boolean
}

/** What the log does now, and how many lines it has. */
export function StateLine({ state, isPrevious, isPodGone, kept, isCut }: StateLineProps): ReactElement {
  const { state: gateway } = useStore(connection)
  if (state.name === 'refused') return <ErrorText error={state.problem} />
  const lines = `${kept.toLocaleString('en-US')} lines`
  return (
    <p className={styles.state} role="status">
      {gateway !== 'online' && (state.name === 'open' || state.name === 'crowded')
        ? INTERRUPTED
        : stateText(state, isPrevious, isPodGone)}{' '}
      {kept > 0 && (isCut ? `${lines}, older ones are left out` : lines)}
    </p>
  )
}

const INTERRUPTED = 'Interrupted: it goes on by itself.'

function stateText(state: LogState, isPrevious: boolean, isPodGone: boolean): string {
  if (isPodGone && state.name !== 'opening') return 'The pod is gone.'
  switch (state.name) {
    case 'opening':
      return 'Reading the log.'
    case 'open':
      // A run that is over does not go on: its log ends.
      return isPrevious ? 'Reading the log.' : 'Live.'
    case 'crowded':
      return CROWDED
    case 'interrupted':
      return INTERRUPTED
    case 'ended':
      return state.isWaiting ? 'The container has ended. Its next run is shown here as soon as it begins.' : 'Complete.'
    case 'missing':
      return `No log yet, it is tried again: ${state.problem.detail}`
    case 'replaced':
      return 'Another log of this tab is followed now.'
    default:
      return ''
  }
}

function logPath(id: { namespace: string; name: string }, log: LogOf, since: string, fewer: number | null): string {
  return `${xappPath(id, 'logs')}${queryText({ ...parameters(log, since, fewer), follow: true })}`
}

function parameters({ pod, container, previous }: LogOf, since: string, fewer: number | null = null) {
  const tail = fewer ?? (since === '' ? TAIL : TAIL_SINCE)
  return { pod, container, previous: previous ? true : null, since, tail }
}

function commandsFor(
  id: { namespace: string; name: string },
  log: LogOf,
  since: string,
): { curl: string; kubectl: string } {
  const words = ['logs', '-n', id.namespace, log.pod, ...(log.container === '' ? [] : ['-c', log.container])]
  const isTime = since.includes('T')
  return {
    curl: curlCommand({
      method: 'GET',
      path: xappPath(id, 'logs'),
      query: { ...parameters(log, since), follow: log.previous ? null : true },
    }),
    kubectl: kubectl([
      ...words,
      log.previous ? '--previous' : '--follow',
      ...(since === '' ? [`--tail=${TAIL}`] : [`--since${isTime ? '-time' : ''}=${since}`]),
    ]),
  }
}
