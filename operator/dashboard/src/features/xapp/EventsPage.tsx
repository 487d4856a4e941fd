import type { ReactElement } from 'react'

export function EventsPage(): ReactElement {
  return <p>This page is not built yet.</p>
}
