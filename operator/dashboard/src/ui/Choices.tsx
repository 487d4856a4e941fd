import type { ReactElement } from 'react'
import { RadioButton, RadioField, RadioGroup as AriaRadioGroup, SwitchButton, SwitchField } from 'react-aria-components'

import { classes } from '~/ui/classes'
import { errorText, fieldId, FieldLabel, FieldNotes, noticed, type FieldProps } from '~/ui/FieldFrame'
import type { Item } from '~/ui/Select'

import styles from './fieldStyles.module.css'
import choiceStyles from './Choices.module.css'

export { Checkbox } from '~/ui/Checkbox'

interface SwitchProps {
  label: string
  isSelected: boolean
  onChange: (isSelected: boolean) => void
  isDisabled?: boolean
}

export function Switch({ label, ...rest }: SwitchProps): ReactElement {
  return (
    <SwitchField {...rest}>
      <SwitchButton className={styles.choice}>
        <span className={styles.track}>
          <span className={styles.knob} />
        </span>
        {label}
      </SwitchButton>
    </SwitchField>
  )
}

interface RadioGroupProps extends FieldProps {
  items: readonly Item[]
  value: string | null
  onChange: (id: string) => void
  orientation?: 'horizontal' | 'vertical'
}

export function RadioGroup({
  label,
  hidesLabel = false,
  items,
  description,
  error,
  isRequired = false,
  name,
  orientation = 'vertical',
  value,
  onChange,
  isDisabled = false,
}: RadioGroupProps): ReactElement {
  return (
    <AriaRadioGroup
      {...noticed(description)}
      className={styles.field}
      value={value}
      onChange={onChange}
      orientation={orientation}
      aria-label={hidesLabel ? label : undefined}
      isRequired={isRequired}
      isDisabled={isDisabled}
      isInvalid={errorText(error) !== ''}
      validationBehavior="aria"
      id={name === undefined ? undefined : fieldId(name)}
    >
      {!hidesLabel && <FieldLabel label={label} isRequired={isRequired} />}
      <div className={classes(choiceStyles.items, orientation === 'horizontal' && choiceStyles.horizontal)}>
        {items.map((item) => (
          <RadioField key={item.id} value={item.id}>
            <RadioButton className={styles.choice}>
              {({ isSelected }) => (
                <>
                  <span className={classes(styles.box, styles.round)}>
                    {isSelected && <span className={styles.dot} />}
                  </span>
                  <span>
                    {item.label}
                    {item.description !== undefined && <span className={choiceStyles.more}>{item.description}</span>}
                  </span>
                </>
              )}
            </RadioButton>
          </RadioField>
        ))}
      </div>
      <FieldNotes description={description} error={error} />
    </AriaRadioGroup>
  )
}
