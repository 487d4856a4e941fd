import type { ReactElement } from 'react'

import { Page } from '~/ui/Page'

export function RepositoryPage(): ReactElement {
  return <Page title="Repository">This page is not built yet.</Page>
}
