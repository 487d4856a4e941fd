import type { ReactElement } from 'react'

export function HistoryPage(): ReactElement {
  return <p>This page is not built yet.</p>
}
