import { useId, useImperativeHandle, useMemo, useRef, type Ref } from 'react'

import { TextEditor, TextView, ValuesForm, type LineNote, type TextEditorHandle } from '~/editor/lazy'
import { useValuesCheck } from '~/editor/useValuesCheck'
import type { FieldProblem } from '~/lib/problem'
import { notFoundHere, type ChartFacts, type MarkedProblem } from '~/lib/values/checkValues'
import { isAboutValues, valuesPath, valuesProblems } from '~/lib/values/fieldLine'
import { resultText } from '~/lib/values/resultText'
import { pathText } from '~/lib/values/value'
import { classes } from '~/ui/classes'
import { fieldId } from '~/ui/FieldFrame'
import { Notice } from '~/ui/Notice'
import { Tabs } from '~/ui/TabLinks'

import styles from './deploy.module.css'
import { LoadFile, useLoadedFile } from './LoadFile'
import { ProblemList } from './ProblemList'
import type { UnseenOfChart } from './unseenOfChart'

export type ValuesView = 'yours' | 'defaults' | 'result' | 'form'

export interface ValuesEditorHandle {
  /** Shows the place of an error of the API; false if it is not about values. */
  showField: (field: string, line: number | undefined) => boolean
}

interface ValuesEditorProps {
  text: string
  onChange: (text: string) => void
  view: ValuesView
  onView: (view: ValuesView) => void
  chart: ChartFacts
  unseen: UnseenOfChart
  /** What helm merges below the text, low to high. */
  layersBelow: readonly { from: string; text: string | null }[]
  /** What the gateway refused, and the text that it refused. */
  refusal: { errors: readonly FieldProblem[]; text: string } | null
  valuesBytesMax: number
  onBlur?: () => void
  isReadOnly?: boolean
  ref?: Ref<ValuesEditorHandle>
}

const NO_PROBLEMS: readonly MarkedProblem[] = []

/** The values of a user, as YAML or as a form, beside the defaults of the chart and what helm makes of both. */
export function ValuesEditor(props: ValuesEditorProps) {
  const { text, onChange, view, onView, chart, unseen, layersBelow, refusal, valuesBytesMax, ref } = props
  const isReadOnly = props.isReadOnly ?? false
  const editor = useRef<TextEditorHandle>(null)
  const listId = useId()
  const file = useLoadedFile({ text, onChange, bytesMax: valuesBytesMax })
  const check = useValuesCheck(text, chart)
  const refused = useMemo(() => (refusal?.text === text ? refusedProblems(refusal) : NO_PROBLEMS), [refusal, text])
  const problems = useMemo(
    () => [...notFoundHere(refused, check.problems), ...check.problems],
    [refused, check.problems],
  )
  const goTo = (line: number, column: number): void => {
    onView('yours')
    // The editor may have to be shown first.
    requestAnimationFrame(() => requestAnimationFrame(() => editor.current?.goTo(line, column)))
  }
  useImperativeHandle(ref, () => ({
    showField: (field, line) => {
      if (!isAboutValues(field)) return false
      const found = refused.find(
        (problem) => problem.line === line || problem.path === pathText(valuesPath(field) ?? []),
      )
      goTo(found?.line ?? line ?? 1, found?.column ?? 1)
      return true
    },
  }))
  const yours = isReadOnly ? (
    <TextView label="Your values" text={text} language="yaml" />
  ) : (
    <TextEditor
      ref={editor}
      label="Your values, YAML"
      value={text}
      language="yaml"
      onChange={onChange}
      problems={problems}
      describedBy={listId}
      onFile={file.load}
      {...(props.onBlur ? { onBlur: props.onBlur } : {})}
    />
  )
  const form = (
    <ValuesForm
      text={text}
      onChange={onChange}
      chart={chart}
      layersBelow={layersBelow}
      problems={problems}
      isReadOnly={isReadOnly}
      unseen={unseen.defaults ?? unseen.schema}
    />
  )
  return (
    <div id={fieldId('values')} className={classes(styles.stack, styles.wide)}>
      <Tabs
        label="Values"
        selected={view}
        onSelect={onView}
        items={[
          { id: 'yours', label: 'YAML', content: yours },
          { id: 'form', label: 'Form', content: form },
          {
            id: 'defaults',
            label: 'Defaults',
            content: <Defaults text={chart.defaultsText} unseen={unseen.defaults} />,
          },
          { id: 'result', label: 'Result', content: <Result layers={layersBelow} yours={text} /> },
        ]}
      />
      {!isReadOnly && (view === 'yours' || view === 'form') && <LoadFile {...file} />}
      <ProblemList
        id={listId}
        problems={problems}
        unchecked={check.unchecked}
        onSelect={({ line, column }) => goTo(line, column)}
      />
    </div>
  )
}

function refusedProblems({ errors, text }: { errors: readonly FieldProblem[]; text: string }): MarkedProblem[] {
  const about = errors.filter(({ field }) => isAboutValues(field))
  return valuesProblems(text, about).map((problem, index) => ({
    ...problem,
    severity: 'error',
    path: pathText(valuesPath(about[index]?.field ?? 'values') ?? []),
  }))
}

function Defaults({ text, unseen }: { text: string; unseen: string | null }) {
  if (text.trim() === '') return <p className={styles.muted}>{unseen ?? 'This chart has no default values.'}</p>
  return <TextView label="Default values of the chart" text={text} language="yaml" />
}

const ORIGIN_NAMES: Readonly<Record<string, string>> = { chart: 'chart', address: 'address', yours: 'yours' }

function roundedNote(written: string | undefined): string {
  return written === undefined ? '' : `, helm rounds ${written}`
}

function Result({ layers, yours }: { layers: readonly { from: string; text: string | null }[]; yours: string }) {
  const result = useMemo(() => resultText([...layers, { from: 'yours', text: yours }]), [layers, yours])
  const notes = useMemo(
    () =>
      result.origins.map(({ line, from }): LineNote => ({
        line,
        text: `${ORIGIN_NAMES[from] ?? from}${roundedNote(result.rounded.get(line))}`,
        tone: from === 'yours' ? 'strong' : 'quiet',
      })),
    [result],
  )
  return (
    <div className={styles.stack}>
      {result.hidden.length > 0 && (
        <Notice tone="info">{`Not visible: ${result.hidden.join(', ')}. Needs: get secrets or configmaps. Their values are missing here.`}</Notice>
      )}
      {result.text === '' ? (
        <p className={styles.muted}>There are no values: neither the chart nor you give any.</p>
      ) : (
        <TextView
          label="Result: what helm gets, with the origin of each line"
          text={result.text}
          language="yaml"
          notes={notes}
        />
      )}
    </div>
  )
}
