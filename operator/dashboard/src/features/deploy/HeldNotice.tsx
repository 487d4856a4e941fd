import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { revisionQuery } from '~/api/queries/xappDetails'
import type { Right } from '~/lib/rights'
import { MASK } from '~/lib/values/mask'
import { Button } from '~/ui/Button'
import { Notice } from '~/ui/Notice'
import { ErrorText } from '~/ui/ProblemPanel'

interface HeldNoticeProps {
  namespace: string
  name: string
  /** The revision that a rollback holds. */
  revision: number
  /** What is typed now: the undo brings it back. */
  text: string
  onChange: (text: string) => void
  /** Whether the caller may change the values. */
  right: Right
}

/** Says that the values to edit are not those in force, and offers those. */
export function HeldNotice({ namespace, name, revision, text, onChange, right }: HeldNoticeProps) {
  const queryClient = useQueryClient()
  const [started, setStarted] = useState<{ before: string; after: string } | null>(null)
  const start = useMutation({
    mutationFn: () => queryClient.query(revisionQuery({ namespace, name }, revision)),
    onSuccess: ({ valuesText }) => {
      setStarted({ before: text, after: valuesText })
      onChange(valuesText)
    },
  })
  const isStarted = started?.after === text
  return (
    <Notice
      tone="warn"
      title={`Revision ${revision} is in force by a rollback`}
      actions={
        isStarted ? (
          <Button
            size="small"
            onPress={() => {
              setStarted(null)
              onChange(started.before)
            }}
          >
            Undo
          </Button>
        ) : (
          <Button size="small" right={right} isPending={start.isPending} onPress={() => start.mutate()}>
            {`Start from the values of revision ${revision}`}
          </Button>
        )
      }
    >
      <p>
        {isStarted
          ? `These are the values of revision ${revision}. Applying them ends the rollback.`
          : 'These are the values of the XApp from before it. Applying them ends the rollback.'}
        {isStarted &&
          started.after.includes(MASK) &&
          ` A masked secret stays what it is in the XApp, which can differ from that of revision ${revision}.`}
      </p>
      {start.error !== null && <ErrorText error={start.error} />}
    </Notice>
  )
}
