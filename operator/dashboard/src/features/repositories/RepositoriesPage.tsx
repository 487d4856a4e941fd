import type { ReactElement } from 'react'

import { Page } from '~/ui/Page'

export function RepositoriesPage(): ReactElement {
  return <Page title="Repositories">This page is not built yet.</Page>
}
