import type { ReactElement } from 'react'

import { useOpenXApp } from '~/features/xapp/openXApp'
import { EmptyState } from '~/ui/EmptyState'

/** Returns what stands where nothing was read before the xApp was uninstalled; undefined while it is there. */
export function useEnded(): ReactElement | undefined {
  const { goneAt } = useOpenXApp()
  return goneAt === null ? undefined : <EmptyState title="This was not read before the xApp was uninstalled" />
}
