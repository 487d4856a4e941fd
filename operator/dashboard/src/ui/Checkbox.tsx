import { Check, Minus } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'
import { CheckboxButton, CheckboxField } from 'react-aria-components'

import { fieldId } from '~/ui/FieldFrame'

import styles from './fieldStyles.module.css'

interface CheckboxProps {
  /** Its text; without children it is for screen readers only. */
  label: string
  children?: ReactNode
  isSelected: boolean
  isIndeterminate?: boolean
  onChange: (isSelected: boolean) => void
  isDisabled?: boolean
  /** The field of `errors[]`, for links from a summary. */
  name?: string
}

export function Checkbox({ label, children, isIndeterminate = false, name, ...rest }: CheckboxProps): ReactElement {
  return (
    <CheckboxField
      {...rest}
      {...(name === undefined ? {} : { id: fieldId(name) })}
      isIndeterminate={isIndeterminate}
      aria-label={children === null ? label : undefined}
    >
      <CheckboxButton className={styles.choice}>
        {({ isSelected }) => (
          <>
            <span className={styles.box}>
              {isIndeterminate ? <Minus size={14} aria-hidden /> : isSelected && <Check size={14} aria-hidden />}
            </span>
            {children === undefined ? label : children}
          </>
        )}
      </CheckboxButton>
    </CheckboxField>
  )
}
