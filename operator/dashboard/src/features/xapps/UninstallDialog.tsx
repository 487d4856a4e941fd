import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'

import { removalQuery } from '~/api/queries/xappDetails'
import { uninstallXApp } from '~/api/queries/xappActions'
import type { XApp } from '~/api/queries/xapps'
import { inBatches } from '~/lib/inBatches'
import { describeError } from '~/lib/problem'
import { allOf, refused, type Right } from '~/lib/rights'
import { toast } from '~/lib/toasts'
import { removalGaps, removalGapsOfSeveral, removalSentences, removalSentencesOfSeveral } from '~/lib/xapp/removal'
import { uninstallCommands } from '~/lib/xapps/uninstallCommands'
import { CopyAs } from '~/ui/CopyAs'
import { ConfirmDialog } from '~/ui/Dialog'
import { Notice } from '~/ui/Notice'
import { Skeleton } from '~/ui/Skeleton'
import { Text } from '~/ui/Text'
import { TextField } from '~/ui/TextField'

import { useGone } from './useGone'
import { useRemovals, type Removal } from './useRemovals'
import { useUninstallRight } from './useUninstallRight'
import styles from './XAppsPage.module.css'

const AT_ONCE = 6
const NUMBER_TYPED_FROM = 10

interface UninstallDialogProps {
  /** The selected xApps; those known by labels only are left out. */
  xapps: readonly XApp[]
  /** The uids that the list has lost since the dialog opened: gone, or filtered out. */
  left: ReadonlySet<string>
  onClose: () => void
  /** The ones that could not be uninstalled: they stay selected. */
  onDone: (failed: readonly XApp[]) => void
}

/** Asks before uninstalling one or several xApps, and shows the result of each. */
export function UninstallDialog({ xapps, left, onClose, onDone }: UninstallDialogProps): ReactElement {
  const [chosen, setChosen] = useState(() => xapps.filter(({ source }) => source === 'xapp'))
  const [external] = useState(() => xapps.filter(({ source }) => source !== 'xapp'))
  const [typed, setTyped] = useState('')
  const [done, setDone] = useState(0)
  const [isPending, setPending] = useState(false)
  const [failures, setFailures] = useState<ReadonlyMap<string, string>>(new Map())
  const client = useQueryClient()
  const right = useUninstallRight(chosen)
  const removals = useRemovals(chosen)
  const mustType = chosen.length >= NUMBER_TYPED_FROM
  const gone = useGone(chosen, left)
  // What it removes itself is no news.
  const lost = isPending ? null : lostReason(chosen, gone)

  const uninstall = async (): Promise<void> => {
    setPending(true)
    setDone(0)
    const failed = new Map<string, string>()
    let missing = 0
    await inBatches(
      chosen,
      AT_ONCE,
      async ({ namespace, name, uid }) => {
        if (!(await uninstallXApp(namespace, name, uid))) missing += 1
      },
      ({ uid }, error) => {
        setDone((count) => count + 1)
        if (error !== null) failed.set(uid, describeError(error).detail)
      },
    )
    setPending(false)
    setFailures(failed)
    const kept = chosen.filter(({ uid }) => failed.has(uid))
    const accepted = chosen.length - kept.length - missing
    const results = [
      accepted > 0 ? `Accepted: ${accepted} of ${chosen.length} are being uninstalled` : '',
      missing > 0 ? `Already gone: ${missing}` : '',
    ]
    if (accepted + missing > 0) toast(results.filter((result) => result !== '').join('. '))
    void client.invalidateQueries({ queryKey: ['xapps'] })
    onDone(kept)
    if (kept.length === 0) onClose()
    else setChosen(kept)
  }

  const subject = chosen.length === 1 ? (chosen[0]?.name ?? '') : `${chosen.length} xApps`
  return (
    <ConfirmDialog
      title={chosen.length === 0 ? 'Nothing to uninstall' : `Uninstall ${subject}?`}
      isOpen
      onClose={onClose}
      confirmLabel={isPending ? `${done} of ${chosen.length}` : `Uninstall ${subject}`}
      onConfirm={() => void uninstall()}
      isPending={isPending}
      isDanger
      right={allOf(lost === null ? null : refused(lost), refusalOf(chosen.length, mustType, typed), right)}
      width="medium"
    >
      {lost !== null && (
        <Notice tone="warn" isLive>
          {lost}
        </Notice>
      )}
      {failures.size > 0 && (
        <Notice tone="bad" title={`${failures.size} could not be uninstalled. They stay selected.`} isLive />
      )}
      {chosen.length === 1 && chosen[0] !== undefined ? (
        <OnePreview xapp={chosen[0]} isGone={lost !== null} />
      ) : (
        <SeveralPreview xapps={chosen.filter(({ uid }) => isPending || !gone.has(uid))} removals={removals} />
      )}
      {(chosen.length > 1 || failures.size > 0) && (
        <Names label="What is uninstalled" xapps={chosen} failures={failures} gone={gone} removals={removals} />
      )}
      {external.length > 0 && (
        <>
          <p>Left out, because they are known by their labels only. Adopt them first:</p>
          <Names label="What is left out" xapps={external} />
        </>
      )}
      {chosen.length > 0 && (
        <div>
          <CopyAs size="small" {...uninstallCommands(chosen)} />
        </div>
      )}
      {mustType && (
        <TextField
          label={`Type ${chosen.length} to confirm`}
          value={typed}
          onChange={setTyped}
          autoComplete="off"
          isRequired
        />
      )}
    </ConfirmDialog>
  )
}

function refusalOf(count: number, mustType: boolean, typed: string): Right | null {
  if (count === 0) return refused('Only xApps that were deployed with an XApp resource can be uninstalled here')
  if (mustType && typed.trim() !== String(count)) return refused(`Type ${count} first`)
  return null
}

/** Why nothing is left to uninstall; null if something is. */
function lostReason(chosen: readonly XApp[], gone: ReadonlySet<string>): string | null {
  if (chosen.length === 0 || chosen.some(({ uid }) => !gone.has(uid))) return null
  return chosen.length === 1 ? 'It was uninstalled meanwhile' : 'All of them were uninstalled meanwhile'
}

interface OnePreviewProps {
  xapp: XApp
  isGone: boolean
}

function OnePreview({ xapp: { namespace, name, uid }, isGone }: OnePreviewProps): ReactElement {
  const preview = useQuery({ ...removalQuery({ namespace, name, uid }), enabled: !isGone })
  if (preview.data !== undefined)
    return (
      <>
        <p>{removalSentences(preview.data, namespace).join(' ')}</p>
        {removalGaps(preview.data, namespace).map((gap) => (
          <p key={gap}>{gap}</p>
        ))}
      </>
    )
  if (preview.error === null) return <Skeleton lines={2} />
  return (
    <p>
      This removes its Helm release from {namespace}. What goes with it is not known:{' '}
      <Text>{describeError(preview.error).detail}</Text>
    </p>
  )
}

interface SeveralPreviewProps {
  xapps: readonly XApp[]
  removals: ReadonlyMap<string, Removal>
}

function SeveralPreview({ xapps, removals }: SeveralPreviewProps): ReactElement | null {
  const known = xapps.flatMap(({ uid, namespace }) => {
    const removal = removals.get(uid)
    return removal === undefined ? [] : [{ namespace, removal }]
  })
  if (known.length < xapps.length) return <Skeleton lines={2} waitsFor="The gateway looks at what goes" />
  const seen = known.flatMap(({ namespace, removal }) =>
    'preview' in removal ? [{ namespace, preview: removal.preview }] : [],
  )
  const [unknown = null] = known.flatMap(({ removal }) => ('unknown' in removal ? [removal.unknown] : []))
  return (
    <>
      {seen.length > 0 && <p>{removalSentencesOfSeveral(seen).join(' ')}</p>}
      {removalGapsOfSeveral(seen).map((gap) => (
        <p key={gap}>{gap}</p>
      ))}
      {unknown !== null && (
        <p>
          What goes with {known.length - seen.length} of them is not known: <Text>{unknown}</Text>
        </p>
      )}
    </>
  )
}

interface NamesProps {
  label: string
  xapps: readonly XApp[]
  failures?: ReadonlyMap<string, string>
  gone?: ReadonlySet<string>
  removals?: ReadonlyMap<string, Removal>
}

function Names({ label, xapps, failures, gone, removals }: NamesProps): ReactElement {
  return (
    // The keyboard scrolls it.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={styles.names} role="group" aria-label={label} tabIndex={0}>
      <ul>
        {xapps.map(({ uid, namespace, name }) => (
          <li key={uid}>
            <Text>{`${namespace}/${name}`}</Text>
            {failures?.has(uid) === true ? (
              <span className={styles.failure}>
                {' '}
                <Text>{failures.get(uid) ?? ''}</Text>
              </span>
            ) : gone?.has(uid) === true ? (
              ' was uninstalled meanwhile'
            ) : (
              isOrphan(removals?.get(uid)) && ' keeps running'
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}

function isOrphan(removal: Removal | undefined): boolean {
  return removal !== undefined && 'preview' in removal && removal.preview.deletionPolicy === 'Orphan'
}
