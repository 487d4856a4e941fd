import { useQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'

import { notesQuery, xappPath } from '~/api/queries/xappDetails'
import { hasNoRevision, NoRevision } from '~/features/xapp/NoRevision'
import { NotVisible } from '~/features/xapp/NotVisible'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { useEnded } from '~/features/xapp/useEnded'
import { WithoutHelm } from '~/features/xapp/WithoutHelm'
import { curlCommand } from '~/lib/commands'
import { isWithoutHelm } from '~/lib/xapp/withoutHelm'
import { Code } from '~/ui/Code'
import { CopyAs } from '~/ui/CopyAs'
import { EmptyState } from '~/ui/EmptyState'
import { Panel } from '~/ui/Panel'

/** What the chart says about itself after it was installed. */
export function NotesPage(): ReactElement {
  const { id, record, goneAt, see } = useOpenXApp()
  const ended = useEnded()
  const right = see('release')
  const query = useQuery({
    ...notesQuery(id, record.release.revision),
    enabled: goneAt === null && right.allowed && !isWithoutHelm(record) && !hasNoRevision(record),
  })
  if (isWithoutHelm(record)) return <WithoutHelm what="notes" />
  if (!right.allowed) return <NotVisible right={right} />
  if (hasNoRevision(record)) return <NoRevision />
  const commands = {
    curl: curlCommand({ method: 'GET', path: xappPath(id, 'notes') }),
    kubectl: { none: 'kubectl does not know notes. Use helm: helm get notes' },
  }
  return (
    <Panel title="Notes" query={query} ended={ended} skeletonLines={6} actions={<CopyAs size="small" {...commands} />}>
      {({ notes }) =>
        notes.trim() === '' ? (
          <EmptyState title="The chart has no notes" />
        ) : (
          <Code label="the notes" wraps>
            {notes}
          </Code>
        )
      }
    </Panel>
  )
}
