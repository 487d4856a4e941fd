import type { ReactElement } from 'react'

import { Page } from '~/ui/Page'

export function ServicesPage(): ReactElement {
  return <Page title="Services">This page is not built yet.</Page>
}
