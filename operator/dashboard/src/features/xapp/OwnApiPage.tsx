import type { ReactElement } from 'react'

export function OwnApiPage(): ReactElement {
  return <p>This page is not built yet.</p>
}
