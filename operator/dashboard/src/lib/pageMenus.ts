/** The menus that are on the page now. The palette finds their items: until a menu is opened, they are in no document. */

import type { Right } from '~/lib/rights'

export interface PageMenu {
  label: string
  items: readonly (PageMenuItem | 'separator')[]
}

export interface PageMenuItem {
  id: string
  label: string
  right?: Right | undefined
  /** For items of which one is chosen. */
  isSelected?: boolean
  onAction: () => void
}

const menus = new Map<string, () => PageMenu>()

/** Adds the menu of the button with this id; `menu` returns it as it is then. Returns how to take it away. */
export function registerMenu(id: string, menu: () => PageMenu): () => void {
  menus.set(id, menu)
  return () => menus.delete(id)
}

/** Returns the menu of the button with this id. */
export function pageMenu(id: string | undefined): PageMenu | undefined {
  return id === undefined ? undefined : menus.get(id)?.()
}
