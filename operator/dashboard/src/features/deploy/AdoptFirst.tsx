import type { ReactElement } from 'react'

import { ButtonLink } from '~/ui/Link'
import { Notice } from '~/ui/Notice'

interface AdoptFirstProps {
  namespace: string
  releaseName: string
  /** What cannot be done before. */
  children: string
}

/** In place of a form for an xApp that is known by its labels only. */
export function AdoptFirst({ namespace, releaseName, children }: AdoptFirstProps): ReactElement {
  return (
    <Notice
      tone="info"
      actions={
        <ButtonLink to="/deploy" search={{ namespace, releaseName, adopt: true }}>
          Adopt...
        </ButtonLink>
      }
    >
      {children}
    </Notice>
  )
}
