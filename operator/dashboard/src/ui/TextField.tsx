import type { HTMLInputAutoCompleteAttribute, ReactElement } from 'react'
import { Input, TextArea as AriaTextArea, TextField as AriaTextField } from 'react-aria-components'

import { errorText, fieldId, FieldLabel, FieldNotes, noticed, type FieldProps } from '~/ui/FieldFrame'

import styles from './fieldStyles.module.css'

export interface TextFieldProps extends FieldProps {
  value: string
  onChange: (value: string) => void
  onBlur?: () => void
  type?: 'text' | 'password' | 'url' | 'search'
  placeholder?: string
  autoComplete?: HTMLInputAutoCompleteAttribute
  isReadOnly?: boolean
  maxLength?: number
}

export function TextField({ type = 'text', placeholder, ...rest }: TextFieldProps): ReactElement {
  return (
    <Frame {...rest} type={type}>
      <Input className={styles.input} {...inputProps(rest.name, placeholder)} />
    </Frame>
  )
}

export interface TextAreaProps extends Omit<TextFieldProps, 'type'> {
  rows?: number
}

export function TextArea({ rows = 6, placeholder, ...rest }: TextAreaProps): ReactElement {
  return (
    <Frame {...rest}>
      <AriaTextArea className={styles.input} rows={rows} {...inputProps(rest.name, placeholder)} />
    </Frame>
  )
}

function inputProps(
  name: string | undefined,
  placeholder: string | undefined,
): {
  id: string | undefined
  placeholder: string | undefined
} {
  return { id: name === undefined ? undefined : fieldId(name), placeholder }
}

function Frame({
  children,
  label,
  hidesLabel = false,
  description,
  error,
  isRequired = false,
  name,
  ...rest
}: Omit<TextFieldProps, 'placeholder'> & { children: ReactElement }): ReactElement {
  return (
    <AriaTextField
      {...rest}
      {...noticed(description)}
      name={name}
      className={styles.field}
      aria-label={hidesLabel ? label : undefined}
      isRequired={isRequired}
      isInvalid={errorText(error) !== ''}
      validationBehavior="aria"
    >
      {!hidesLabel && <FieldLabel label={label} isRequired={isRequired} />}
      {children}
      <FieldNotes description={description} error={error} />
    </AriaTextField>
  )
}
