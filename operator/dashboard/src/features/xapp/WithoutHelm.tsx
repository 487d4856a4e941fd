import type { ReactElement } from 'react'

import { EmptyState } from '~/ui/EmptyState'

/** In place of something that comes with a revision of a release, for an xApp that has none. */
export function WithoutHelm({ what }: { what: string }): ReactElement {
  return (
    <EmptyState title="No Helm release">{`It was installed without Helm, so it has no ${what}. Its first revision comes when it is adopted.`}</EmptyState>
  )
}
