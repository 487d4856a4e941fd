import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'

import { readAgainAfter, uninstallXApp } from '~/api/queries/xappActions'
import { xappQuery } from '~/api/queries/xapps'
import { removalQuery } from '~/api/queries/xappDetails'
import { lostReason, useOpenXApp } from '~/features/xapp/openXApp'
import { describeError } from '~/lib/problem'
import { allOf, refused } from '~/lib/rights'
import { toast } from '~/lib/toasts'
import { removalGaps, removalSentences, type RemovalPreview } from '~/lib/xapp/removal'
import { ConfirmDialog } from '~/ui/Dialog'
import { Notice } from '~/ui/Notice'
import { Skeleton } from '~/ui/Skeleton'
import { Text } from '~/ui/Text'

import styles from './UninstallDialog.module.css'

/** Asks before uninstalling, and says what goes and what stays. Another xApp of the same name is not removed. */
export function UninstallDialog({ onClose }: { onClose: () => void }): ReactElement {
  const { id, record, goneAt, change } = useOpenXApp()
  const [uid] = useState(record.uid)
  const client = useQueryClient()
  const lost = lostReason(record, uid, goneAt)
  const preview = useQuery({ ...removalQuery({ ...id, uid }), enabled: lost === null })
  const uninstall = useMutation({
    mutationFn: () => uninstallXApp(id.namespace, id.name, uid),
    onSuccess: (wasThere) => {
      toast(wasThere ? `Accepted: ${id.name} is being uninstalled` : `${id.name} is already gone`)
      onClose()
      return client.invalidateQueries({ queryKey: xappQuery(id.namespace, id.name).queryKey })
    },
    onError: (error) => readAgainAfter(client, id, error),
  })
  return (
    <ConfirmDialog
      title={`Uninstall ${id.name}?`}
      isOpen
      onClose={onClose}
      confirmLabel={`Uninstall ${id.name}`}
      onConfirm={() => uninstall.mutate()}
      isPending={uninstall.isPending}
      isDanger
      right={allOf(lost === null ? null : refused(lost), change('uninstall'))}
      error={uninstall.error}
      width="medium"
    >
      {lost !== null && (
        <Notice tone="warn" isLive>
          {lost}
        </Notice>
      )}
      {preview.data !== undefined ? (
        <Removal preview={preview.data} namespace={id.namespace} />
      ) : preview.error !== null ? (
        <p>
          This removes its Helm release from {id.namespace}. What goes with it is not known:{' '}
          <Text>{describeError(preview.error).detail}</Text>
        </p>
      ) : (
        <Skeleton lines={2} />
      )}
    </ConfirmDialog>
  )
}

function Removal({ preview, namespace }: { preview: RemovalPreview; namespace: string }): ReactElement {
  return (
    <div className={styles.removal}>
      <p>{removalSentences(preview, namespace).join(' ')}</p>
      <ObjectList title="Objects that go" objects={preview.objects ?? []} />
      <ObjectList title="Objects that stay" objects={preview.kept ?? []} />
      <NameList title="Volume claims whose data stays" names={preview.claimsKept ?? []} />
      <NameList title="xApps that depend on it" names={preview.dependents ?? []} />
      {removalGaps(preview, namespace).map((gap) => (
        <p key={gap} className={styles.gap}>
          {gap}
        </p>
      ))}
    </div>
  )
}

function ObjectList({
  title,
  objects,
}: {
  title: string
  objects: readonly { kind: string; name: string }[]
}): ReactElement {
  return <NameList title={title} names={objects.map(({ kind, name }) => `${kind} ${name}`)} />
}

function NameList({ title, names }: { title: string; names: readonly string[] }): ReactElement | null {
  if (names.length === 0) return null
  return (
    <details>
      <summary>
        {title}: {names.length}
      </summary>
      <ul className={styles.names}>
        {names.map((name, index) => (
          <li key={index}>
            <Text>{name}</Text>
          </li>
        ))}
      </ul>
    </details>
  )
}
