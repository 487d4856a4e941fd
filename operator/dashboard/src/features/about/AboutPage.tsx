import type { ReactElement } from 'react'

import { Page } from '~/ui/Page'

export function AboutPage(): ReactElement {
  return <Page title="About">This page is not built yet.</Page>
}
