import type { ReactElement } from 'react'

import { Page } from '~/ui/Page'

export function DeployPage(): ReactElement {
  return <Page title="Deploy an xApp">This page is not built yet.</Page>
}
