import { ChevronDown } from 'lucide-react'
import { useRef, type ReactElement } from 'react'
import { Button as AriaButton, ComboBox as AriaComboBox, Input, ListBox, Popover } from 'react-aria-components'

import { choicesFailure, NoChoices, RetryChoices, type ChoicesRead } from '~/ui/ChoicesState'
import { classes } from '~/ui/classes'
import { errorText, fieldId, FieldLabel, FieldNotes, noticed, type FieldProps } from '~/ui/FieldFrame'
import { Option, type Item } from '~/ui/Select'

import styles from './fieldStyles.module.css'
import comboStyles from './ComboBox.module.css'

interface ComboBoxProps extends FieldProps {
  items: readonly Item[]
  /** The text of the field. */
  value: string
  onChange: (text: string) => void
  /** An item was chosen; `onChange` is called with its label too. */
  onSelect?: (id: string) => void
  onBlur?: () => void
  allowsCustomValue?: boolean
  /** The items come from a search on the server: all of them are shown. */
  isFiltered?: boolean
  /** How the items are read; undefined: they are not. */
  read?: ChoicesRead | undefined
  placeholder?: string
  emptyText?: string
}

/** A text field that offers choices. */
export function ComboBox({
  label,
  hidesLabel = false,
  items,
  value,
  onChange,
  onSelect,
  onBlur,
  allowsCustomValue = true,
  isFiltered = false,
  read,
  placeholder,
  emptyText,
  description,
  error,
  isRequired = false,
  isDisabled = false,
  name,
}: ComboBoxProps): ReactElement {
  const failure = choicesFailure(read)
  const notes = failure ?? description
  const input = useRef<HTMLInputElement>(null)
  return (
    <AriaComboBox
      {...noticed(notes)}
      className={styles.field}
      items={items}
      inputValue={value}
      onInputChange={onChange}
      onChange={(id) => {
        if (id !== null) onSelect?.(String(id))
      }}
      onBlur={onBlur}
      {...(isFiltered ? { defaultFilter: () => true } : {})}
      allowsCustomValue={allowsCustomValue}
      // Nothing covers the message and Retry.
      allowsEmptyCollection={failure === null}
      menuTrigger="focus"
      aria-label={hidesLabel ? label : undefined}
      isRequired={isRequired}
      isDisabled={isDisabled}
      isInvalid={errorText(error) !== ''}
      validationBehavior="aria"
    >
      {!hidesLabel && <FieldLabel label={label} isRequired={isRequired} />}
      <div className={comboStyles.box}>
        <Input
          ref={input}
          className={styles.input}
          placeholder={placeholder}
          id={name === undefined ? undefined : fieldId(name)}
        />
        <AriaButton className={classes(comboStyles.button)} aria-label={`Show the choices of ${label}`}>
          <ChevronDown size={16} aria-hidden />
        </AriaButton>
      </div>
      <FieldNotes description={notes} error={error} />
      <RetryChoices read={read} onRetry={() => input.current?.focus()} />
      <Popover className={styles.popover}>
        <ListBox items={items} renderEmptyState={() => <NoChoices read={read} emptyText={emptyText} />}>
          {(item) => <Option item={item} />}
        </ListBox>
      </Popover>
    </AriaComboBox>
  )
}
