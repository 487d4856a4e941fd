import type { ReactElement } from 'react'

import { Page } from '~/ui/Page'

export function NewRepositoryPage(): ReactElement {
  return <Page title="Add a repository">This page is not built yet.</Page>
}
