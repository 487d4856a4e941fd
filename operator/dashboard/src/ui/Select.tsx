import { Check, ChevronDown } from 'lucide-react'
import type { ReactElement } from 'react'
import {
  Button as AriaButton,
  ListBox,
  ListBoxItem,
  Popover,
  Select as AriaSelect,
  SelectValue,
} from 'react-aria-components'

import { visibleText } from '~/lib/visibleText'
import { classes } from '~/ui/classes'
import { errorText, fieldId, FieldLabel, FieldNotes, noticed, type FieldProps } from '~/ui/FieldFrame'
import { Text } from '~/ui/Text'

import styles from './fieldStyles.module.css'
import selectStyles from './Select.module.css'

export interface Item {
  id: string
  label: string
  description?: string
}

interface SelectProps extends FieldProps {
  items: readonly Item[]
  /** The id of an item, or null. */
  value: string | null
  onChange: (id: string) => void
  placeholder?: string
  size?: 'normal' | 'small'
}

/** A field that offers a few choices. */
export function Select({
  label,
  hidesLabel = false,
  items,
  value,
  onChange,
  placeholder = 'Choose',
  description,
  error,
  isRequired = false,
  isDisabled = false,
  name,
  size = 'normal',
}: SelectProps): ReactElement {
  return (
    <AriaSelect
      {...noticed(description)}
      className={styles.field}
      value={value}
      onChange={(id) => {
        if (id !== null) onChange(String(id))
      }}
      aria-label={hidesLabel ? label : undefined}
      placeholder={placeholder}
      isRequired={isRequired}
      isDisabled={isDisabled}
      isInvalid={errorText(error) !== ''}
      validationBehavior="aria"
    >
      {!hidesLabel && <FieldLabel label={label} isRequired={isRequired} />}
      <AriaButton
        className={classes(styles.input, selectStyles.button, size === 'small' && selectStyles.small)}
        id={name === undefined ? undefined : fieldId(name)}
      >
        <SelectValue className={selectStyles.value} />
        <ChevronDown size={16} aria-hidden />
      </AriaButton>
      <FieldNotes description={description} error={error} />
      <Popover className={styles.popover}>
        <ListBox items={items}>{(item) => <Option item={item} />}</ListBox>
      </Popover>
    </AriaSelect>
  )
}

/** Longer choices come from charts only, and are cut after two lines. */
const LONG_OPTION = 120

/** An item of a list of choices. */
export function Option({ item }: { item: Item }): ReactElement {
  return (
    <ListBoxItem id={item.id} textValue={visibleText(item.label)} className={styles.option}>
      {({ isSelected }) => (
        <>
          <span className={styles.optionText}>
            <Text {...(item.label.length > LONG_OPTION ? { lines: 2 as const } : {})}>{item.label}</Text>
            {item.description !== undefined && (
              <span className={selectStyles.more}>
                <Text>{item.description}</Text>
              </span>
            )}
          </span>
          {isSelected && <Check size={16} aria-hidden />}
        </>
      )}
    </ListBoxItem>
  )
}
