import Form, { type IChangeEvent } from '@rjsf/core'
import type { RJSFSchema } from '@rjsf/utils'
import { Component, useMemo, type ReactNode } from 'react'

import { isTooLarge, TOO_LARGE } from '~/lib/schema/formCost'
import { formSchema, NOTHING_TO_SHOW } from '~/lib/schema/formSchema'
import { formData as asFormData, valuesFromForm } from '~/lib/schema/formData'
import { editsBetween } from '~/lib/values/changes'
import type { ChartFacts, MarkedProblem } from '~/lib/values/checkValues'
import { schemaOf } from '~/lib/values/checkValues'
import { mergeValues } from '~/lib/values/mergeValues'
import { layersFromTexts, originOf } from '~/lib/values/origins'
import { isObject, pathText, type Path, type Value } from '~/lib/values/value'
import { parseYaml } from '~/lib/values/yamlDocument'
import { applyEdits } from '~/lib/values/yamlEdit'

import { ScalarField, type ValuesFormContext } from './fields'
import styles from './form.module.css'
import { formValidator } from './formValidator'
import {
  ArrayFieldItemTemplate,
  ArrayFieldTemplate,
  BranchWidget,
  CyclicSchemaExpandTemplate,
  FieldTemplate,
  MultiSchemaFieldTemplate,
  ObjectFieldTemplate,
  UnsupportedFieldTemplate,
} from './templates'

export interface ValuesFormProps {
  /** The values file, which the form edits one value at a time. */
  text: string
  onChange: (text: string) => void
  chart: ChartFacts
  /** What helm merges below the text, low to high, if that is more than the defaults of the chart. */
  layersBelow?: readonly { from: string; text: string | null }[]
  /** What is wrong with the values; shown at the fields that it is about. */
  problems: readonly MarkedProblem[]
  isReadOnly?: boolean
  /** Why defaults or schema of the chart are not known, if they are not. */
  unseen?: string | null
}

const FIELDS = { StringField: ScalarField, NumberField: ScalarField, BooleanField: ScalarField, NullField: ScalarField }
const TEMPLATES = {
  FieldTemplate,
  ObjectFieldTemplate,
  ArrayFieldTemplate,
  ArrayFieldItemTemplate,
  MultiSchemaFieldTemplate,
  CyclicSchemaExpandTemplate,
  UnsupportedFieldTemplate,
}
const NO_LAYERS: NonNullable<ValuesFormProps['layersBelow']> = []
const WIDGETS = { SelectWidget: BranchWidget }
/** Nothing is written that nobody wrote. */
const NO_DEFAULTS = {
  emptyObjectFields: 'skipDefaults',
  arrayMinItems: { populate: 'never' },
  allOf: 'skipDefaults',
  constAsDefaults: 'never',
} as const

export function ValuesForm({
  text,
  onChange,
  chart,
  layersBelow = NO_LAYERS,
  problems,
  isReadOnly = false,
  unseen = null,
}: ValuesFormProps) {
  const parsed = useMemo(() => parseYaml(text), [text])
  const data = useMemo(() => asFormData(parsed.values), [parsed])
  const defaults = useMemo(() => parseYaml(chart.defaultsText).values, [chart.defaultsText])
  const made = useMemo(() => formSchema(schemaOf(chart), defaults), [chart, defaults])
  const below = useMemo(() => {
    const layers = layersFromTexts(layersBelow.filter(({ from }) => from !== 'chart'))
    return {
      below: layers.reduce((lower, { values }) => mergeValues(lower, isObject(values) ? values : {}), defaults),
      originOf: (path: Path) => originOf(layers, path),
    }
  }, [layersBelow, defaults])
  const tooLarge = useMemo(() => 'schema' in made && isTooLarge(made.schema, parsed.values), [made, parsed])
  const emptied = useMemo(() => emptyLists(parsed.values).join('\n'), [parsed])
  const context = useMemo(
    (): ValuesFormContext => ({
      ...below,
      emptied: new Set(emptied.split('\n')),
      isReadOnly,
      problems: new Map(problems.flatMap(({ path, message }) => (path === null ? [] : [[path, message]]))),
    }),
    [below, emptied, isReadOnly, problems],
  )
  const [syntax] = parsed.problems
  if ('refused' in made) {
    const reason = made.refused === NOTHING_TO_SHOW ? (unseen ?? made.refused) : made.refused
    return <p className={styles.description}>{reason}</p>
  }
  if (tooLarge) return <p className={styles.description}>{TOO_LARGE}</p>
  if (syntax)
    return (
      <p role="alert">{`Line ${syntax.line}: ${syntax.message} Correct the YAML first; the form then shows it.`}</p>
    )
  const change = ({ formData }: IChangeEvent<unknown, RJSFSchema, ValuesFormContext>) => {
    const next = valuesFromForm(parsed.values, formData, below.below) ?? {}
    const edited = applyEdits(text, editsBetween(parsed.values, next))
    if (edited !== null && edited !== text) onChange(edited)
  }
  return (
    <FormBoundary key={chart.schemaText}>
      <div className={styles.form}>
        {unseen !== null && <p className={styles.description}>{unseen}</p>}
        <Form<unknown, RJSFSchema, ValuesFormContext>
          tagName="div"
          schema={made.schema}
          validator={formValidator}
          formData={data}
          formContext={context}
          fields={FIELDS}
          templates={TEMPLATES}
          widgets={WIDGETS}
          disabled={isReadOnly}
          idPrefix="values"
          noHtml5Validate
          showErrorList={false}
          experimental_defaultFormStateBehavior={NO_DEFAULTS}
          onChange={change}
        >
          <></>
        </Form>
      </div>
    </FormBoundary>
  )
}

/** The paths of the lists that are written without an item. */
function emptyLists(value: Value, path: Path = []): string[] {
  if (Array.isArray(value) && value.length === 0) return [pathText(path)]
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => emptyLists(inner, [...path, key]))
}

/** A schema that the form library cannot work with must not take the page, and what was typed, with it. */
class FormBoundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false }

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true }
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children
    return <p role="alert">The schema of this chart cannot be shown as a form. Use YAML.</p>
  }
}
