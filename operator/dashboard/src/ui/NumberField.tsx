import { Minus, Plus } from 'lucide-react'
import type { ReactElement } from 'react'
import { Button as AriaButton, Group, Input, NumberField as AriaNumberField } from 'react-aria-components'

import { errorText, fieldId, FieldLabel, FieldNotes, noticed, type FieldProps } from '~/ui/FieldFrame'

import styles from './fieldStyles.module.css'
import buttonStyles from './Button.module.css'
import { classes } from '~/ui/classes'

interface NumberFieldProps extends FieldProps {
  /** null: empty. */
  value: number | null
  onChange: (value: number | null) => void
  min?: number
  max?: number
  /** Shown after the label, for example "s". */
  unit?: string
}

/** A field for a whole number. */
export function NumberField({
  label,
  hidesLabel = false,
  unit,
  value,
  onChange,
  min,
  max,
  description,
  error,
  isRequired = false,
  isDisabled = false,
  name,
}: NumberFieldProps): ReactElement {
  const look = classes(buttonStyles.button, buttonStyles.quiet, buttonStyles.icon)
  const text = unit === undefined ? label : `${label} (${unit})`
  return (
    <AriaNumberField
      {...noticed(description)}
      className={styles.field}
      value={value ?? Number.NaN}
      onChange={(next) => onChange(Number.isNaN(next) ? null : next)}
      minValue={min}
      maxValue={max}
      aria-label={hidesLabel ? text : undefined}
      formatOptions={{ useGrouping: false, maximumFractionDigits: 0 }}
      isRequired={isRequired}
      isDisabled={isDisabled}
      isInvalid={errorText(error) !== ''}
      validationBehavior="aria"
    >
      {!hidesLabel && <FieldLabel label={text} isRequired={isRequired} />}
      <Group className={styles.row}>
        <Input className={styles.input} id={name === undefined ? undefined : fieldId(name)} />
        <AriaButton slot="decrement" className={look}>
          <Minus size={16} aria-hidden />
        </AriaButton>
        <AriaButton slot="increment" className={look}>
          <Plus size={16} aria-hidden />
        </AriaButton>
      </Group>
      <FieldNotes description={description} error={error} />
    </AriaNumberField>
  )
}
