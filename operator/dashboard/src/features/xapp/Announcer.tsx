import { useQuery } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'

import { healthQuery } from '~/api/queries/xappDetails'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { culpritLead, culpritText, findCause, type Cause } from '~/lib/xapp/cause'

import styles from './XAppLayout.module.css'

/** Tells screen readers once when the state changes while the page is open, and when something is first at fault. */
export function Announcer(): ReactElement {
  const { id, record, goneAt } = useOpenXApp()
  // As the page knows it: nothing is read for this alone.
  const health = useQuery({ ...healthQuery(id), enabled: false })
  const isGone = goneAt !== null
  const phase = isGone ? 'Uninstalled' : record.phase
  const cause = isGone ? null : findCause(record, health.data)
  const [seen, setSeen] = useState({ phase, isFaulty: cause !== null, words: '' })
  // The message alone changes often, and between its runs a container is not at fault.
  if (seen.phase !== phase) {
    const words = isGone ? phase : `${phase}. ${record.message ?? ''}`
    setSeen({ phase, isFaulty: cause !== null, words })
  } else if (cause !== null && !seen.isFaulty) {
    setSeen({ phase, isFaulty: true, words: `${phase}. ${causeText(cause)}` })
  }
  return (
    <div role="status" className={styles.announcer}>
      {seen.words}
    </div>
  )
}

function causeText(cause: Cause): string {
  const { culprit, message } = cause
  if (culprit === null) return message
  return `${culpritLead(cause)}Pod ${culprit.pod}, container ${culprit.container}: ${culpritText(culprit)}`
}
