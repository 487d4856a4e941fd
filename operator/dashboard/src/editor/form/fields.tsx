import type { FieldProps, RJSFSchema } from '@rjsf/utils'
import { useState } from 'react'

import { formData as asFormData, readScalar, scalarFromForm, scalarText, type ScalarKind } from '~/lib/schema/formData'
import { ANY_SCALAR } from '~/lib/schema/formSchema'
import { pathText, valueAt, type Path, type Value, type ValueObject } from '~/lib/values/value'
import { Select } from '~/ui/Select'
import { Text } from '~/ui/Text'
import { TextField } from '~/ui/TextField'

import styles from './form.module.css'

export interface ValuesFormContext {
  /** What helm gets below the values of the user: of the chart, and of what is merged over it. */
  below: ValueObject
  /** Returns the layer that a value below is from; null: none that is visible. */
  originOf: (path: Path) => string | null
  /** The paths of lists that are written, and empty. */
  emptied: ReadonlySet<string>
  /** Messages by the path of a value. */
  problems: ReadonlyMap<string, string>
  isReadOnly: boolean
}

/** Returns what helm uses while a path is not written. Nothing is merged into the items of a list. */
export function valueBelow({ below }: ValuesFormContext, path: Path): Value | undefined {
  return path.some((key) => typeof key === 'number') ? undefined : valueAt(below, path)
}

/** Returns the name of the layer that a value below is from. */
export function originText({ originOf }: ValuesFormContext, path: Path): string {
  const origin = originOf(path)
  return origin === null || origin === 'chart' ? 'default' : origin
}

/** The id of the choice that leaves a value to the chart. */
const DEFAULT_ID = 'default'

type ScalarFieldProps = FieldProps<unknown, RJSFSchema, ValuesFormContext>

/** A text, a number, a choice or a switch. Empty means what is below: the default of the chart, or what is merged over it. It is not written. */
export function ScalarField(props: ScalarFieldProps) {
  const { schema, name, fieldPathId, formData, onChange, required = false, registry, title } = props
  const context = registry.formContext
  const path = fieldPathId.path as Path
  const id = pathText(path)
  const shared = {
    label: schema.title ?? title ?? name,
    name: `values.${id}`,
    description: schema.description,
    error: context.problems.get(id),
    isRequired: required,
    isDisabled: context.isReadOnly,
  }
  const value = scalarFromForm(formData)
  if (typeof value === 'object' && value !== null) return <OnlyInYaml label={shared.label} value={value} />
  const below = valueBelow(context, path)
  const fallback = below === undefined ? undefined : `${scalarText(below) || 'empty'} (${originText(context, path)})`
  const change = (next: Value | undefined) =>
    onChange(next === undefined ? undefined : asFormData(next), fieldPathId.path)
  const choices = choicesOf(schema)
  if (choices) {
    const items = choices.map((choice, index) => ({ id: String(index), label: scalarText(choice) }))
    const chosen = choices.findIndex((choice) => choice === value)
    const none = { id: DEFAULT_ID, label: fallback ?? 'not set' }
    return (
      <Select
        {...shared}
        items={[none, ...items]}
        value={chosen < 0 ? DEFAULT_ID : String(chosen)}
        onChange={(key) => change(key === DEFAULT_ID ? undefined : choices[Number(key)])}
      />
    )
  }
  return <TextualField key={id} {...shared} kind={kindOf(schema)} value={value} fallback={fallback} onChange={change} />
}

function choicesOf(schema: RJSFSchema): Value[] | null {
  if (Array.isArray(schema.enum)) return schema.enum
  if (schema.const !== undefined) return [schema.const]
  return schema.type === 'boolean' ? [true, false] : null
}

function kindOf(schema: RJSFSchema): ScalarKind {
  if (ANY_SCALAR in schema || schema.type === undefined) return 'any'
  return schema.type === 'integer' || schema.type === 'number' ? schema.type : 'string'
}

interface TextualFieldProps {
  label: string
  name: string
  description: string | undefined
  error: string | undefined
  isRequired: boolean
  isDisabled: boolean
  kind: ScalarKind
  value: Value | undefined
  fallback: string | undefined
  onChange: (value: Value | undefined) => void
}

const WRONG: Record<ScalarKind, string> = {
  integer: 'Must be a whole number.',
  number: 'Must be a number.',
  string: '',
  any: '',
}

function TextualField({ kind, value, fallback, onChange, error, description, ...rest }: TextualFieldProps) {
  // What is no number yet stays in the field, and is not written.
  const [typed, setTyped] = useState<{ text: string; value: Value | undefined } | null>(null)
  const current = typed !== null && typed.value === value ? typed.text : scalarText(value)
  const wrong = readScalar(current, kind) === null ? WRONG[kind] : undefined
  const change = (text: string) => {
    const next = readScalar(text, kind)
    setTyped({ text, value: next === null ? value : next })
    if (next !== null) onChange(next)
  }
  const notes = description === undefined ? {} : { description }
  return (
    <TextField
      {...rest}
      {...notes}
      {...(fallback === undefined ? {} : { placeholder: fallback })}
      value={current}
      onChange={change}
      error={wrong ?? error}
    />
  )
}

/** A list or an object where one value is expected: a key pressed here would replace all of it. */
function OnlyInYaml({ label, value }: { label: string; value: Value[] | ValueObject }) {
  const names = Array.isArray(value) ? null : Object.keys(value)
  const what = names === null ? countOf((value as Value[]).length, 'item') : countOf(names.length, 'key')
  return (
    <div>
      <Text lines={1}>{label}</Text>
      <p className={styles.description}>
        <Text
          lines={2}
        >{`${what}${names === null || names.length === 0 ? '' : ` (${names.join(', ')})`}: edit them in YAML.`}</Text>
      </p>
    </div>
  )
}

export function countOf(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`
}
