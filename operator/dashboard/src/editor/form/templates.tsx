import {
  canExpand,
  type ArrayFieldItemTemplateProps,
  type ArrayFieldTemplateProps,
  type CyclicSchemaExpandProps,
  type FieldTemplateProps,
  type MultiSchemaFieldTemplateProps,
  type ObjectFieldTemplateProps,
  type RJSFSchema,
  type WidgetProps,
  ADDITIONAL_PROPERTY_FLAG,
} from '@rjsf/utils'
import { Plus, Trash2 } from 'lucide-react'
import { useEffect, useRef, useState, type RefObject } from 'react'

import { scalarText } from '~/lib/schema/formData'
import { pathText, type Path, type Value } from '~/lib/values/value'
import { visibleText } from '~/lib/visibleText'
import { Button, IconButton } from '~/ui/Button'
import { Select } from '~/ui/Select'
import { Text } from '~/ui/Text'
import { useKeptFocus } from '~/ui/useKeptFocus'
import { TextField } from '~/ui/TextField'

import { countOf, originText, valueBelow, type ValuesFormContext } from './fields'
import styles from './form.module.css'

type Schema = RJSFSchema
type Context = ValuesFormContext

/** One field; of an object that takes any keys also its key, which can be changed, and a button that removes it. */
export function FieldTemplate({
  children,
  hidden,
  schema,
  label,
  onKeyRename,
  onRemoveProperty,
  id,
}: FieldTemplateProps<unknown, Schema, Context>) {
  if (hidden) return null
  if (!(ADDITIONAL_PROPERTY_FLAG in schema)) return <div className={styles.field}>{children}</div>
  return (
    <div className={styles.additional}>
      <KeyField key={label} id={id} label={label} onRename={onKeyRename} />
      {children}
      <IconButton
        label={`Remove ${visibleText(label)}`}
        icon={<Trash2 size={16} aria-hidden />}
        onPress={() => onRemoveProperty()}
      />
    </div>
  )
}

function KeyField({ id, label, onRename }: { id: string; label: string; onRename: (key: string) => void }) {
  const [key, setKey] = useState(label)
  return (
    <TextField
      label="Key"
      name={`${id}-key`}
      value={key}
      onChange={setKey}
      onBlur={() => (key !== label && key !== '' ? onRename(key) : undefined)}
    />
  )
}

export function ObjectFieldTemplate(props: ObjectFieldTemplateProps<unknown, Schema, Context>) {
  const { title, description, properties, schema, uiSchema, formData, onAddProperty, fieldPathId } = props
  const group = useRef<HTMLDivElement>(null)
  const expectAdded = useFocusOfAdded(group, properties.length)
  const fields = (
    <div ref={group} className={styles.fields}>
      {properties.map((property) => (
        <div
          key={property.name}
          className={styles.cell}
          data-wide={isWide(schema, property.name) || undefined}
          data-entry
        >
          {property.content}
        </div>
      ))}
      {canExpand(schema, uiSchema, formData) && (
        <Button
          size="small"
          icon={<Plus size={16} aria-hidden />}
          onPress={() => {
            expectAdded(properties.length + 1)
            onAddProperty()
          }}
        >
          Add a key
        </Button>
      )}
    </div>
  )
  if (fieldPathId.path.length === 0) return fields
  return (
    <fieldset className={styles.group}>
      <legend className={styles.legend}>
        <Text lines={2}>{title}</Text>
      </legend>
      {typeof description === 'string' && description !== '' && (
        <p className={styles.description}>
          <Text>{description}</Text>
        </p>
      )}
      {fields}
    </fieldset>
  )
}

/** Objects and lists take the whole width. */
function isWide(schema: Schema, name: string): boolean {
  const property = schema.properties?.[name]
  if (typeof property !== 'object') return true
  if (property.enum !== undefined || property.const !== undefined) return false
  return property.type === 'object' || property.type === 'array' || property.type === undefined
}

export function ArrayFieldTemplate({
  title,
  schema,
  items,
  canAdd,
  onAddClick,
  fieldPathId,
  registry,
}: ArrayFieldTemplateProps<unknown, Schema, Context>) {
  const path = fieldPathId.path as Path
  const below = valueBelow(registry.formContext, path)
  const kept = Array.isArray(below) && items.length === 0 ? below : []
  const isEmptied = registry.formContext.emptied.has(pathText(path))
  // A new list begins with the items below.
  const first = isEmptied ? 0 : kept.length
  const box = useKeptFocus<HTMLFieldSetElement>()
  const expectAdded = useFocusOfAdded(box.ref, items.length)
  const hasRoom = first === 0 || first < (schema.maxItems ?? Infinity)
  return (
    <fieldset {...box} className={styles.group}>
      <legend className={styles.legend}>
        <Text lines={2}>{title}</Text>
      </legend>
      {schema.description !== undefined && (
        <p className={styles.description}>
          <Text>{schema.description}</Text>
        </p>
      )}
      {items}
      {kept.length > 0 && (
        <ItemsBelow
          items={kept}
          from={originText(registry.formContext, path)}
          isEmptied={isEmptied}
          isFull={!hasRoom}
        />
      )}
      {canAdd === true && hasRoom && (
        <Button
          size="small"
          icon={<Plus size={16} aria-hidden />}
          onPress={() => {
            expectAdded(items.length + first + 1)
            onAddClick()
          }}
        >
          {`Add to ${visibleText(title)}`}
        </Button>
      )}
    </fieldset>
  )
}

const ITEMS_SHOWN = 20

interface ItemsBelowProps {
  items: readonly Value[]
  from: string
  /** The list is written, and empty. */
  isEmptied: boolean
  /** The schema allows no more items. */
  isFull: boolean
}

/** The items that helm uses while a list is not written. */
function ItemsBelow({ items, from, isEmptied, isFull }: ItemsBelowProps) {
  const count = countOf(items.length, 'item')
  if (isEmptied) return <p className={styles.description}>{`Empty: it replaces ${count} (${from}).`}</p>
  const note = isFull ? 'The list is full: change it in YAML.' : 'What you add comes after them.'
  return (
    <div className={styles.description}>
      <p>{`${count} (${from}). ${note}`}</p>
      <ul>
        {items.slice(0, ITEMS_SHOWN).map((item, index) => (
          <li key={index}>
            <Text lines={1}>{scalarText(item)}</Text>
          </li>
        ))}
      </ul>
      {items.length > ITEMS_SHOWN && <p>{`and ${items.length - ITEMS_SHOWN} more: see Defaults`}</p>}
    </div>
  )
}

/** Of one group, not of the groups in it. */
const ENTRIES = ':scope > [data-entry], :scope > * > [data-entry]'

/** Focuses the first field of what was added last, once the group has as many entries as expected. */
function useFocusOfAdded(group: RefObject<HTMLElement | null>, count: number): (expected: number) => void {
  const expected = useRef<number | null>(null)
  useEffect(() => {
    if (expected.current === null || count < expected.current) return
    expected.current = null
    const added = [...(group.current?.querySelectorAll(ENTRIES) ?? [])].at(-1)
    const field = added?.querySelector<HTMLElement>('input, button')
    field?.focus()
    if (field instanceof HTMLInputElement) field.select()
  }, [group, count])
  return (next) => {
    expected.current = next
  }
}

export function ArrayFieldItemTemplate({
  children,
  buttonsProps,
  index,
}: ArrayFieldItemTemplateProps<unknown, Schema, Context>) {
  return (
    <div className={styles.item}>
      <div className={styles.itemBody} data-entry>
        {children}
      </div>
      {buttonsProps.hasRemove && (
        <IconButton
          label={`Remove item ${index + 1}`}
          icon={<Trash2 size={16} aria-hidden />}
          onPress={() => buttonsProps.onRemoveItem()}
        />
      )}
    </div>
  )
}

export function MultiSchemaFieldTemplate({
  selector,
  optionSchemaField,
}: MultiSchemaFieldTemplateProps<unknown, Schema, Context>) {
  return (
    <div className={styles.field}>
      {selector}
      {optionSchemaField}
    </div>
  )
}

export function UnsupportedFieldTemplate() {
  return <p className={styles.description}>This value has no form. Use YAML.</p>
}

export function CyclicSchemaExpandTemplate({
  fieldPathId,
  name,
  onExpand,
}: CyclicSchemaExpandProps<unknown, Schema, Context>) {
  return (
    <Button size="small" icon={<Plus size={16} aria-hidden />} onPress={() => onExpand(fieldPathId.$id)}>
      {`Add ${name}`}
    </Button>
  )
}

/** The choice between the branches of `oneOf` and `anyOf`. */
export function BranchWidget({ id, label, options, value, onChange }: WidgetProps<unknown, Schema, Context>) {
  const items = (options.enumOptions ?? []).map((option, index) => ({ id: String(index), label: option.label }))
  const chosen = (options.enumOptions ?? []).findIndex((option) => option.value === value)
  return (
    <Select
      label={label === '' ? 'Kind' : label}
      name={id}
      items={items}
      value={chosen < 0 ? null : String(chosen)}
      onChange={(key) => onChange(options.enumOptions?.[Number(key)]?.value)}
    />
  )
}
