import type { ReactElement, ReactNode } from 'react'

import { useRightSomewhere } from '~/api/useRightSomewhere'
import { Button } from '~/ui/Button'
import { ButtonLink } from '~/ui/Link'

interface DeployLinkProps {
  variant?: 'default' | 'primary'
  size?: 'normal' | 'small'
  icon?: ReactNode
  children: string
}

/** Leads to the page Deploy; for those who may deploy nowhere, a button that says which right is missing. */
export function DeployLink(props: DeployLinkProps): ReactElement {
  const right = useRightSomewhere('deploy')
  return right.allowed ? <ButtonLink to="/deploy" {...props} /> : <Button {...props} right={right} />
}
