import type { ReactElement } from 'react'

export function LogsPage(): ReactElement {
  return <p>This page is not built yet.</p>
}
