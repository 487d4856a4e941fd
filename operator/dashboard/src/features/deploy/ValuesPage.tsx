import type { ReactElement } from 'react'

export function ValuesPage(): ReactElement {
  return <p>This page is not built yet.</p>
}
