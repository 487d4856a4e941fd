/** The page of the list of xApps that was shown last: the page of one xApp steps through it. */

import type { XAppsSearch } from '~/lib/routeSearch'
import { createStore } from '~/lib/store'

export interface XAppKey {
  namespace: string
  name: string
}

export interface ListedXApps {
  /** Filters and order, number and size of the page. */
  search: XAppsSearch
  rows: readonly XAppKey[]
  lastPage: number
}

export const listedXApps = createStore<ListedXApps | null>(null)
