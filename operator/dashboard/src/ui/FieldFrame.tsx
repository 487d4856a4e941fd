import { CircleX } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'
import { Label, Text as AriaText } from 'react-aria-components'

import { Text } from '~/ui/Text'

import styles from './fieldStyles.module.css'

/** Longer labels come from charts only, and are cut after two lines. */
const LONG_LABEL = 60

/** What every field takes. */
export interface FieldProps {
  label: string
  /** The label is for screen readers only. */
  hidesLabel?: boolean
  description?: ReactNode
  /** What is wrong with the value; null or undefined: nothing. */
  error?: string | readonly string[] | null | undefined
  isRequired?: boolean
  isDisabled?: boolean
  /** The field of `errors[]`, for links from a summary. */
  name?: string
  autoFocus?: boolean
}

/** Returns the messages of a field as one text; empty if there are none. */
export function errorText(error: FieldProps['error']): string {
  if (error === null || error === undefined) return ''
  return typeof error === 'string' ? error : error.join(' ')
}

/** Returns the id of the element that a summary of errors links to. */
export function fieldId(name: string): string {
  return `field-${name}`
}

/** Moves the focus to a field by its name in `errors[]`; in a choice, to what is chosen. Returns whether it is there. */
export function focusField(name: string): boolean {
  const field = document.getElementById(fieldId(name))
  const input = field?.matches('input, textarea, button') === false ? field.querySelector<HTMLElement>(CHOSEN) : null
  const target = input ?? field
  target?.focus()
  return target !== null
}

const CHOSEN = 'input:checked, input'

/** The label above a field. */
export function FieldLabel({ label, isRequired }: Pick<FieldProps, 'label' | 'isRequired'>): ReactElement {
  return (
    <Label className={styles.label}>
      <Text {...(label.length > LONG_LABEL ? { lines: 2 as const } : {})}>{label}</Text>
      {isRequired === true && (
        <span className={styles.required} aria-hidden>
          {' *'}
        </span>
      )}
    </Label>
  )
}

/** A prop of fields: when it changes, React Aria looks again whether there is a description to connect. */
export function noticed(description: ReactNode): { description: boolean } {
  return { description: description !== undefined && description !== null }
}

/** The description and the error below a field. They are connected to the input by React Aria's slots. */
export function FieldNotes({ description, error }: Pick<FieldProps, 'description' | 'error'>): ReactElement {
  const message = errorText(error)
  return (
    <>
      {description !== undefined && description !== null && (
        <AriaText slot="description" className={styles.description}>
          {typeof description === 'string' ? <Text>{description}</Text> : description}
        </AriaText>
      )}
      {message !== '' && (
        <AriaText slot="errorMessage" className={styles.error}>
          <CircleX size={16} aria-hidden />
          <Text>{message}</Text>
        </AriaText>
      )}
    </>
  )
}
