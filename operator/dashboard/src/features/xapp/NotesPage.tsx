import type { ReactElement } from 'react'

export function NotesPage(): ReactElement {
  return <p>This page is not built yet.</p>
}
