import type { ReactElement } from 'react'

import type { Schemas } from '~/api/client'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { RepeatedMessage } from '~/features/xapp/RepeatedMessage'
import { Word } from '~/features/xapp/Word'
import { DataTable, type Column } from '~/ui/DataTable'
import { Card } from '~/ui/Panel'
import { Time } from '~/ui/Time'

type Condition = Schemas['ConditionModel']

const COLUMNS: readonly Column<Condition>[] = [
  { id: 'type', header: 'Condition', cell: ({ type }) => <Word>{type}</Word> },
  { id: 'status', header: 'Status', cell: ({ status }) => status },
  { id: 'reason', header: 'Reason', cell: ({ reason }) => <Word>{reason ?? '-'}</Word> },
  { id: 'message', header: 'Message', cell: ({ message }) => <RepeatedMessage>{message}</RepeatedMessage> },
  { id: 'since', header: 'For', cell: ({ lastTransitionTime }) => <Time at={lastTransitionTime} /> },
]

/** The conditions of the XApp. */
export function ConditionsPanel(): ReactElement | null {
  const { record } = useOpenXApp()
  if (record.source === 'labels') return null
  return (
    <Card title="Conditions">
      {record.conditions.length === 0 ? (
        <p>The operator has not reported yet.</p>
      ) : (
        <DataTable
          caption="Conditions of the XApp"
          columns={COLUMNS}
          rows={record.conditions}
          rowKey={({ type }) => type}
        />
      )}
    </Card>
  )
}
