import type { ReactElement } from 'react'

import type { XAppDetails } from '~/features/xapp/openXApp'
import { EmptyState } from '~/ui/EmptyState'

/** Returns whether nothing of it was deployed yet, so that there is nothing to read of a revision. */
export function hasNoRevision({ source, release }: Pick<XAppDetails, 'source' | 'release'>): boolean {
  return source === 'xapp' && release.revision === null
}

/** In place of something that comes with a revision, before there is one. */
export function NoRevision(): ReactElement {
  return <EmptyState title="No revision yet">The first one comes with the first deployment.</EmptyState>
}
