import type { ReactElement, ReactNode } from 'react'

import styles from './fieldStyles.module.css'

export function Fieldset({ legend, children }: { legend: string; children: ReactNode }): ReactElement {
  return (
    <fieldset>
      <legend className={styles.legend}>{legend}</legend>
      <div className={styles.fieldset}>{children}</div>
    </fieldset>
  )
}
