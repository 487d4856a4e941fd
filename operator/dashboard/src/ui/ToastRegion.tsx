import { Check, X } from 'lucide-react'
import type { ReactElement } from 'react'

import { dismissToast, toasts } from '~/lib/toasts'
import { useStore } from '~/lib/useStore'

import styles from './ToastRegion.module.css'

/** Where toasts appear; screen readers announce them. */
export function ToastRegion(): ReactElement {
  const shown = useStore(toasts)
  return (
    <div className={styles.region} role="status">
      {shown.map(({ id, text }) => (
        <div key={id} className={styles.toast}>
          <Check size={16} aria-hidden />
          <span>{text}</span>
          <button type="button" className={styles.close} aria-label="Dismiss" onClick={() => dismissToast(id)}>
            <X size={16} aria-hidden />
          </button>
        </div>
      ))}
    </div>
  )
}
