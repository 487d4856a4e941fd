import type { ReactElement } from 'react'

import { Page } from '~/ui/Page'

export function ChartPage(): ReactElement {
  return <Page title="Chart">This page is not built yet.</Page>
}
