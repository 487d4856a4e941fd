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

import { visibleText } from '~/lib/visibleText'
import { Button, IconButton } from '~/ui/Button'
import { Select } from '~/ui/Select'
import { Text } from '~/ui/Text'
import { TextField } from '~/ui/TextField'

import type { ValuesFormContext } from './fields'
import styles from './form.module.css'
import { useState } from 'react'

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
  const fields = (
    <div className={styles.fields}>
      {properties.map((property) => (
        <div key={property.name} className={styles.cell} data-wide={isWide(schema, property.name) || undefined}>
          {property.content}
        </div>
      ))}
      {canExpand(schema, uiSchema, formData) && (
        <Button size="small" icon={<Plus size={16} aria-hidden />} onPress={() => onAddProperty()}>
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
}: ArrayFieldTemplateProps<unknown, Schema, Context>) {
  return (
    <fieldset className={styles.group}>
      <legend className={styles.legend}>
        <Text lines={2}>{title}</Text>
      </legend>
      {schema.description !== undefined && (
        <p className={styles.description}>
          <Text>{schema.description}</Text>
        </p>
      )}
      {items}
      {canAdd === true && (
        <Button size="small" icon={<Plus size={16} aria-hidden />} onPress={() => onAddClick()}>
          {`Add to ${visibleText(title)}`}
        </Button>
      )}
    </fieldset>
  )
}

export function ArrayFieldItemTemplate({
  children,
  buttonsProps,
  index,
}: ArrayFieldItemTemplateProps<unknown, Schema, Context>) {
  return (
    <div className={styles.item}>
      <div className={styles.itemBody}>{children}</div>
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
