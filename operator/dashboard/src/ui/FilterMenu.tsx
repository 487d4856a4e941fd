import { Check, ChevronDown } from 'lucide-react'
import { useState, type ReactElement } from 'react'
import {
  Button as AriaButton,
  Dialog,
  DialogTrigger,
  Input,
  ListBox,
  ListBoxItem,
  Popover,
  SearchField,
} from 'react-aria-components'

import { choicesFailure, NoChoices, RetryChoices, type ChoicesRead } from '~/ui/ChoicesState'
import { classes } from '~/ui/classes'
import { Text } from '~/ui/Text'

import fieldStyles from './fieldStyles.module.css'
import styles from './FilterMenu.module.css'

export interface FilterChoice {
  value: string
  /** How many rows have it; null: not counted. */
  count: number | null
}

interface FilterMenuProps {
  label: string
  selected: readonly string[]
  choices: readonly FilterChoice[]
  /** So many choices are read at the most. */
  limit?: number
  read: ChoicesRead
  onChange: (selected: readonly string[]) => void
  /** Asks for choices that begin with the text; without it there is no field for that. */
  onPrefix?: (prefix: string) => void
  onOpenChange?: (isOpen: boolean) => void
}

/** A filter: a button that opens a list in which several values can be chosen. */
export function FilterMenu({
  label,
  selected,
  choices,
  limit = Infinity,
  read,
  onChange,
  onPrefix,
  onOpenChange,
}: FilterMenuProps): ReactElement {
  const [prefix, setPrefix] = useState('')
  const search = (text: string): void => {
    setPrefix(text)
    onPrefix?.(text)
  }
  return (
    <DialogTrigger
      onOpenChange={(isOpen) => {
        if (!isOpen && prefix !== '') search('')
        onOpenChange?.(isOpen)
      }}
    >
      <AriaButton className={classes(styles.button, selected.length > 0 && styles.active)}>
        {selected.length === 0 ? label : `${label}, ${selected.length}`}
        <ChevronDown size={14} aria-hidden />
      </AriaButton>
      <Popover className={classes(fieldStyles.popover, styles.popover)} placement="bottom start">
        <Dialog aria-label={label} className={styles.dialog}>
          {onPrefix !== undefined && (
            <SearchField aria-label={`Find ${label}`} value={prefix} onChange={search} autoFocus>
              <Input className={fieldStyles.input} placeholder="begins with" />
            </SearchField>
          )}
          <ListBox
            aria-label={label}
            className={styles.list}
            selectionMode="multiple"
            escapeKeyBehavior="none"
            selectedKeys={selected}
            onSelectionChange={(keys) => onChange(keys === 'all' ? selected : [...keys].map(String))}
            items={withSelected(choices, selected).map((choice) => ({ id: choice.value, ...choice }))}
            renderEmptyState={() => <NoChoices read={read} />}
          >
            {(choice) => (
              <ListBoxItem id={choice.id} textValue={choice.value} className={fieldStyles.option}>
                {({ isSelected }) => (
                  <>
                    <span className={styles.check}>{isSelected && <Check size={14} aria-hidden />}</span>
                    <span className={fieldStyles.optionText}>
                      <Text>{choice.value}</Text>
                    </span>
                    {choice.count !== null && (
                      <span className={styles.count}>{choice.count.toLocaleString('en-US')}</span>
                    )}
                  </>
                )}
              </ListBoxItem>
            )}
          </ListBox>
          {onPrefix !== undefined && choices.length >= limit && (
            <p className={styles.more}>The {limit} most frequent. Type how others begin.</p>
          )}
          {choicesFailure(read)}
          <RetryChoices read={read} />
        </Dialog>
      </Popover>
    </DialogTrigger>
  )
}

/** Returns the choices, and before them those that are selected but not among them. */
function withSelected(choices: readonly FilterChoice[], selected: readonly string[]): readonly FilterChoice[] {
  const known = new Set(choices.map(({ value }) => value))
  return [...selected.filter((value) => !known.has(value)).map((value) => ({ value, count: null })), ...choices]
}
