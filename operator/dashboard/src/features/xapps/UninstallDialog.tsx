import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'

import { removalQuery } from '~/api/queries/xappDetails'
import { uninstallXApp } from '~/api/queries/xappActions'
import type { XApp } from '~/api/queries/xapps'
import { inBatches } from '~/lib/inBatches'
import { describeError } from '~/lib/problem'
import { allOf, refused, type Right } from '~/lib/rights'
import { toast } from '~/lib/toasts'
import { removalGaps, removalSentences } from '~/lib/xapp/removal'
import { uninstallCommands } from '~/lib/xapps/uninstallCommands'
import { CopyAs } from '~/ui/CopyAs'
import { ConfirmDialog } from '~/ui/Dialog'
import { Notice } from '~/ui/Notice'
import { Skeleton } from '~/ui/Skeleton'
import { Text } from '~/ui/Text'
import { TextField } from '~/ui/TextField'

import { useUninstallRight } from './useUninstallRight'
import styles from './XAppsPage.module.css'

const AT_ONCE = 6
const NUMBER_TYPED_FROM = 10

interface UninstallDialogProps {
  /** The selected xApps; those known by labels only are left out. */
  xapps: readonly XApp[]
  onClose: () => void
  /** The ones that could not be uninstalled: they stay selected. */
  onDone: (failed: readonly XApp[]) => void
}

/** Asks before uninstalling one or several xApps, and shows the result of each. */
export function UninstallDialog({ xapps, onClose, onDone }: UninstallDialogProps): ReactElement {
  const [chosen, setChosen] = useState(() => xapps.filter(({ source }) => source === 'xapp'))
  const [external] = useState(() => xapps.filter(({ source }) => source !== 'xapp'))
  const [typed, setTyped] = useState('')
  const [done, setDone] = useState(0)
  const [isPending, setPending] = useState(false)
  const [failures, setFailures] = useState<ReadonlyMap<string, string>>(new Map())
  const client = useQueryClient()
  const right = useUninstallRight(chosen)
  const mustType = chosen.length >= NUMBER_TYPED_FROM

  const uninstall = async (): Promise<void> => {
    setPending(true)
    setDone(0)
    const failed = new Map<string, string>()
    let gone = 0
    await inBatches(
      chosen,
      AT_ONCE,
      async ({ namespace, name, uid }) => {
        if (!(await uninstallXApp(namespace, name, uid))) gone += 1
      },
      ({ uid }, error) => {
        setDone((count) => count + 1)
        if (error !== null) failed.set(uid, describeError(error).detail)
      },
    )
    setPending(false)
    setFailures(failed)
    const left = chosen.filter(({ uid }) => failed.has(uid))
    const accepted = chosen.length - left.length - gone
    const results = [
      accepted > 0 ? `Accepted: ${accepted} of ${chosen.length} are being uninstalled` : '',
      gone > 0 ? `Already gone: ${gone}` : '',
    ]
    if (accepted + gone > 0) toast(results.filter((result) => result !== '').join('. '))
    void client.invalidateQueries({ queryKey: ['xapps'] })
    onDone(left)
    if (left.length === 0) onClose()
    else setChosen(left)
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
      right={allOf(refusalOf(chosen.length, mustType, typed), right)}
      width="medium"
    >
      {failures.size > 0 && (
        <Notice tone="bad" title={`${failures.size} could not be uninstalled. They stay selected.`} isLive />
      )}
      {chosen.length === 1 && chosen[0] !== undefined ? (
        <OnePreview xapp={chosen[0]} />
      ) : (
        <p>This removes their Helm releases. Data of volume claims stays where the chart keeps it.</p>
      )}
      {(chosen.length > 1 || failures.size > 0) && (
        <Names label="What is uninstalled" xapps={chosen} failures={failures} />
      )}
      {external.length > 0 && (
        <>
          <p>Left out, because they are known by their labels only. Adopt them first:</p>
          <Names label="What is left out" xapps={external} failures={new Map()} />
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

function OnePreview({ xapp: { namespace, name, uid } }: { xapp: XApp }): ReactElement {
  const preview = useQuery(removalQuery({ namespace, name, uid }))
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

interface NamesProps {
  label: string
  xapps: readonly XApp[]
  failures: ReadonlyMap<string, string>
}

function Names({ label, xapps, failures }: NamesProps): ReactElement {
  return (
    // The keyboard scrolls it.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={styles.names} role="group" aria-label={label} tabIndex={0}>
      <ul>
        {xapps.map(({ uid, namespace, name }) => (
          <li key={uid}>
            <Text>{`${namespace}/${name}`}</Text>
            {failures.has(uid) && (
              <span className={styles.failure}>
                {' '}
                <Text>{failures.get(uid) ?? ''}</Text>
              </span>
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}
