import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react'

import type { DryRun, ObjectChange } from '~/api/queries/deployments'
import { DiffView, TextView } from '~/editor/lazy'
import { asksToAdopt } from '~/lib/adoption'
import { isObject } from '~/lib/values/value'
import { stringifyYaml } from '~/lib/values/yamlText'
import { Button } from '~/ui/Button'
import { Notice } from '~/ui/Notice'
import { Card } from '~/ui/Panel'
import { Text } from '~/ui/Text'
import { Tabs, type TabItem } from '~/ui/TabLinks'

import styles from './deploy.module.css'

type PreviewTab = 'changes' | 'objects' | 'manifest' | 'values' | 'notes' | 'warnings'

interface PreviewPanelProps {
  preview: DryRun
  /** Something was edited since, here or by somebody else. */
  isStale: boolean
  isConflict?: boolean
  actions?: ReactNode
  /** Changes the form so that what exists already is taken over; undefined: it says so already, or cannot. */
  onAdopt?: (() => void) | undefined
}

const CHANGE_WORDS: Readonly<Record<NonNullable<ObjectChange>, string>> = {
  create: 'new',
  change: 'changes',
  remove: 'goes',
  unchanged: 'stays',
}

/** What a dry run says would happen. */
export function PreviewPanel({ preview, isStale, isConflict = false, actions, onAdopt }: PreviewPanelProps) {
  const { diff, objects, manifest, notes, warnings } = preview
  const [selected, setSelected] = useState<PreviewTab>(diff === null ? 'objects' : 'changes')
  const values = useMemo(() => valuesText(preview.values), [preview.values])
  const box = useRef<HTMLDivElement>(null)
  // It is below the form: a person who asked for it sees it come.
  useEffect(() => {
    // It returns a promise in some browsers, which is no clean-up.
    box.current?.scrollIntoView({ block: 'center' })
  }, [preview])
  const changes: TabItem<PreviewTab>[] =
    diff === null
      ? []
      : [{ id: 'changes', label: 'Changes', content: <DiffView diff={diff} label="Changes by object" /> }]
  const items: TabItem<PreviewTab>[] = [
    ...changes,
    { id: 'objects', label: `Objects ${objects.length}`, content: <Objects objects={objects} /> },
    { id: 'manifest', label: 'Manifest', content: <Code label="Manifest" text={manifest} language="yaml" /> },
    { id: 'values', label: 'Values', content: <Code label="Values of the result" text={values} language="yaml" /> },
    { id: 'notes', label: 'Notes', content: <Code label="Notes of the chart" text={notes} language="text" /> },
    {
      id: 'warnings',
      label: `Warnings ${warnings.length}`,
      content: <Warnings warnings={warnings} onAdopt={onAdopt} />,
    },
  ]
  const shown = items.some(({ id }) => id === selected) ? selected : 'objects'
  return (
    <Card title="Preview" actions={actions} className={styles.wide}>
      <div ref={box} className={styles.stack}>
        {isStale && (
          <Notice tone="info">{isConflict ? 'Somebody else has edited' : 'You have edited'} since this preview.</Notice>
        )}
        <p role="status">{summary(preview)}</p>
        {preview.rendered === 'offline' && (
          <p className={styles.muted}>Rendered without the cluster: lookups found nothing.</p>
        )}
        {warnings.length > 0 && shown !== 'warnings' && <Warnings warnings={warnings.slice(0, 3)} onAdopt={onAdopt} />}
        <Tabs label="Preview" selected={shown} onSelect={setSelected} items={items} />
      </div>
    </Card>
  )
}

/** "2 objects change, 1 goes". */
export function summary({ objects, diff }: Pick<DryRun, 'objects' | 'diff'>): string {
  const count = (change: ObjectChange): number => objects.filter((object) => object.change === change).length
  const [created, changed, removed] = [count('create'), count('change'), count('remove')]
  const unknown = objects.filter(({ change }) => change === null).length
  if (unknown > 0 && unknown === objects.length) {
    return `${unknown} ${unknown === 1 ? 'object' : 'objects'}. What changes is not known: see the warnings.`
  }
  const parts = [
    { number: changed, one: 'changes', many: 'change' },
    { number: created, one: 'is new', many: 'are new' },
    { number: removed, one: 'goes', many: 'go' },
    { number: unknown, one: 'is not known', many: 'are not known' },
  ].filter(({ number }) => number > 0)
  if (parts.length === 0) return diff === null ? `${objects.length} objects.` : 'No object changes.'
  const texts = parts.map(({ number, one, many }, index) => {
    const noun = index > 0 ? '' : number === 1 ? ' object' : ' objects'
    return `${number}${noun} ${number === 1 ? one : many}`
  })
  return `${texts.join(', ')}.`
}

function Objects({ objects }: { objects: DryRun['objects'] }) {
  if (objects.length === 0) return <p className={styles.muted}>The chart makes no objects with these values.</p>
  return (
    <table className={styles.objects} aria-label="Objects of the release">
      <thead>
        <tr>
          <th scope="col">Change</th>
          <th scope="col">Kind</th>
          <th scope="col">Name</th>
        </tr>
      </thead>
      <tbody>
        {objects.map(({ apiVersion, kind, namespace, name, change }, index) => (
          <tr key={`${index} ${kind} ${name}`}>
            <td>
              {change === null ? (
                '-'
              ) : (
                <span className={`${styles.badge ?? ''} ${styles[change] ?? ''}`}>{CHANGE_WORDS[change]}</span>
              )}
            </td>
            <td title={apiVersion}>
              <Text>{kind}</Text>
            </td>
            <td>
              <Text>{namespace === null ? name : `${namespace}/${name}`}</Text>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Code({ label, text, language }: { label: string; text: string; language: 'yaml' | 'text' }) {
  if (text.trim() === '') return <p className={styles.muted}>{`${label}: none.`}</p>
  return <TextView label={label} text={text.replace(/\n+$/, '')} language={language} />
}

interface WarningsProps extends Pick<PreviewPanelProps, 'onAdopt'> {
  warnings: readonly string[]
}

function Warnings({ warnings, onAdopt }: WarningsProps) {
  if (warnings.length === 0) return <p className={styles.muted}>No warnings.</p>
  return (
    <div className={styles.stack}>
      {warnings.map((warning, index) => (
        <Notice
          key={index}
          tone="warn"
          actions={
            onAdopt !== undefined && asksToAdopt(warning) ? (
              <Button size="small" onPress={onAdopt}>
                Adopt it
              </Button>
            ) : undefined
          }
        >
          <Text multiline>{warning}</Text>
        </Notice>
      ))}
    </div>
  )
}

function valuesText(values: unknown): string {
  return isObject(values) && Object.keys(values).length > 0 ? stringifyYaml(values).trimEnd() : ''
}
