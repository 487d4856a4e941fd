import { useState, type ReactElement } from 'react'

import type { Schemas } from '~/api/client'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { Message } from '~/features/xapp/Message'
import { useCause } from '~/features/xapp/useCause'
import { Word } from '~/features/xapp/Word'
import { Button } from '~/ui/Button'
import { DataTable, type Column } from '~/ui/DataTable'
import { Card } from '~/ui/Panel'
import { Time } from '~/ui/Time'

import styles from './ConditionsPanel.module.css'

type Condition = Schemas['ConditionModel']

const COLUMNS: readonly Column<Condition>[] = [
  { id: 'type', header: 'Condition', cell: ({ type }) => <Word>{type}</Word> },
  { id: 'status', header: 'Status', cell: ({ status }) => status },
  { id: 'reason', header: 'Reason', cell: ({ reason }) => <Word>{reason ?? '-'}</Word> },
  { id: 'message', header: 'Message', cell: ({ message }) => <ConditionMessage>{message}</ConditionMessage> },
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

/** A longer message takes more than two lines of the column. */
const SHORT_CHARACTERS = 80

/** A long message that the page says above is folded. */
function ConditionMessage({ children: message }: { children: string | null }): ReactElement {
  const { cause, waitsFor } = useCause()
  const [isWhole, setWhole] = useState(false)
  const above = cause?.message ?? waitsFor ?? ''
  const isLong = message !== null && (message.length > SHORT_CHARACTERS || message.includes('\n'))
  if (!isLong || !above.includes(message)) return <Message>{message}</Message>
  return (
    <div className={styles.folded}>
      {isWhole ? <Message>{message}</Message> : <Message lines={2}>{message}</Message>}
      <Button size="small" variant="quiet" aria-expanded={isWhole} onPress={() => setWhole(!isWhole)}>
        {isWhole ? 'Show less' : 'Show all'}
      </Button>
    </div>
  )
}
