import type { ReactElement } from 'react'

import type { Right } from '~/lib/rights'
import { CopyButton } from '~/ui/CopyButton'
import { EmptyState } from '~/ui/EmptyState'

/** What stands in place of something that the caller may not read: the missing right, to copy for the administrator. */
export function NotVisible({ right }: { right: Right }): ReactElement {
  const reason = right.reason ?? 'You may not read this.'
  return (
    <EmptyState
      title="Not visible"
      actions={
        <CopyButton text={reason} label="Copy the reason">
          Copy the reason
        </CopyButton>
      }
    >
      {reason}
    </EmptyState>
  )
}
