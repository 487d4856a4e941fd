/** The editors, loaded when a page first shows one. Import them from here only: they are large. */
import { lazy, Suspense, type ComponentType, type ReactNode } from 'react'

import styles from './lazy.module.css'

function whenLoaded<Props extends object>(load: () => Promise<(props: Props) => ReactNode>) {
  const Loaded = lazy(async () => ({ default: (await load()) as ComponentType<object> }))
  return function WhenLoaded(props: Props) {
    return (
      <Suspense fallback={<div className={styles.placeholder} aria-busy="true" />}>
        <Loaded {...props} />
      </Suspense>
    )
  }
}

export const TextEditor = whenLoaded(async () => (await import('./TextEditor')).TextEditor)
export const TextView = whenLoaded(async () => (await import('./TextView')).TextView)
export const CompareView = whenLoaded(async () => (await import('./CompareView')).CompareView)
export const DiffView = whenLoaded(async () => (await import('./DiffView')).DiffView)
export const LogView = whenLoaded(async () => (await import('./LogView')).LogView)
export const ValuesForm = whenLoaded(async () => (await import('./form/ValuesForm')).ValuesForm)

export type { ValuesFormProps } from './form/ValuesForm'
export type { LogViewHandle } from './LogView'
export type { LineNote } from './TextView'
export type { TextEditorHandle, TextProblem } from './TextEditor'
