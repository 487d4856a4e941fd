import type { FieldProps, RJSFSchema } from '@rjsf/utils'
import { useState } from 'react'

import { formData as asFormData, readScalar, scalarFromForm, scalarText, type ScalarKind } from '~/lib/schema/formData'
import { ANY_SCALAR } from '~/lib/schema/formSchema'
import { pathText, valueAt, type Path, type Value, type ValueObject } from '~/lib/values/value'
import { Select } from '~/ui/Select'
import { TextField } from '~/ui/TextField'

export interface ValuesFormContext {
  /** What helm gets below the values of the user: of the chart, and of what is merged over it. */
  below: ValueObject
  /** Returns the layer that a value below is from; null: none that is visible. */
  originOf: (path: Path) => string | null
  /** Messages by the path of a value. */
  problems: ReadonlyMap<string, string>
  isReadOnly: boolean
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
  const below = valueAt(context.below, path)
  const fallback = below === undefined ? undefined : fallbackText(below, context.originOf(path))
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

function fallbackText(below: Value, origin: string | null): string {
  return `${scalarText(below) || 'empty'} (${origin === null || origin === 'chart' ? 'default' : origin})`
}
