import type { ReactElement } from 'react'

import { EmptyState } from '~/ui/EmptyState'
import { ButtonLink } from '~/ui/Link'
import { Page } from '~/ui/Page'

export function NotFoundPage(): ReactElement {
  return (
    <Page title="Page not found">
      <EmptyState title="There is no page at this address" actions={<ButtonLink to="/xapps">All xApps</ButtonLink>}>
        The link may be wrong or of another version of the dashboard.
      </EmptyState>
    </Page>
  )
}
