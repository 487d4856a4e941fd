import type { ReactElement } from 'react'

import { drafts, isAnythingUnsent } from '~/lib/drafts'
import { useStore } from '~/lib/useStore'
import { Button } from '~/ui/Button'
import { Notice } from '~/ui/Notice'

/** The last resort when files of the dashboard do not come: a gateway of another version has other files. */
export function LoadAgain(): ReactElement {
  const isUnsent = useStore(drafts, isAnythingUnsent)
  return (
    <Notice
      title="If this goes on, the gateway was upgraded"
      actions={<Button onPress={() => window.location.reload()}>Load the dashboard again</Button>}
    >
      {isUnsent ? 'What you have typed and not sent is lost then: copy it first.' : 'Nothing is lost.'}
    </Notice>
  )
}
