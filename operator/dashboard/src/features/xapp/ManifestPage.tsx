import type { ReactElement } from 'react'

export function ManifestPage(): ReactElement {
  return <p>This page is not built yet.</p>
}
