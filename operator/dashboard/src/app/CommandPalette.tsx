import type { ReactElement } from 'react'

/** The field "Search or jump" of the header. */
export function CommandPalette(): ReactElement | null {
  return null
}
