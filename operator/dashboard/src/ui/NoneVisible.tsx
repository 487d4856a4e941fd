import type { ReactElement, ReactNode } from 'react'

import type { Right } from '~/lib/rights'
import { CopyButton } from '~/ui/CopyButton'
import { EmptyState } from '~/ui/EmptyState'

interface NoneVisibleProps {
  title: string
  /** What a list shows, in one sentence. */
  children: ReactNode
  /** The right to list them in all namespaces: who has it sees that there is none, others that they may see none. */
  right: Right
  actions?: ReactNode
  /** What stands here if there is none at all, with the next step. */
  noneYet: ReactElement
}

/** What stands in place of an empty list that has no filters. */
export function NoneVisible({ title, children, right, actions, noneYet }: NoneVisibleProps): ReactElement {
  if (right.reason === null) return noneYet
  const needed = `${right.reason} in their namespace, or in all namespaces`
  return (
    <EmptyState
      title={title}
      actions={
        <>
          <CopyButton text={needed} label="Copy the missing right">
            Copy the missing right
          </CopyButton>
          {actions}
        </>
      }
    >
      {children} If some are missing, ask your cluster admin. {needed}.
    </EmptyState>
  )
}
