import type { ReactElement } from 'react'

export function UpgradePage(): ReactElement {
  return <p>This page is not built yet.</p>
}
