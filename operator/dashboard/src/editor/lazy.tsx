/** The editors, loaded when a page first shows one. Import them from here only: they are large. */
import type { ReactNode } from 'react'

import { lazyPart } from '~/ui/lazyPart'

import styles from './lazy.module.css'

function whenShown<Props extends object>(what: string, load: () => Promise<(props: Props) => ReactNode>) {
  const placeholder = <div className={styles.placeholder} aria-busy="true" />
  return lazyPart(what, load, { placeholder, isLarge: true })
}

export const TextEditor = whenShown('the editor', async () => (await import('./TextEditor')).TextEditor)
export const TextView = whenShown('the text view', async () => (await import('./TextView')).TextView)
export const CompareView = whenShown('the comparison', async () => (await import('./CompareView')).CompareView)
export const DiffView = whenShown('the diff', async () => (await import('./DiffView')).DiffView)
export const LogView = whenShown('the log view', async () => (await import('./LogView')).LogView)
export const ValuesForm = whenShown('the form', async () => (await import('./form/ValuesForm')).ValuesForm)

export type { ValuesFormProps } from './form/ValuesForm'
export type { LogViewHandle } from './LogView'
export type { LineNote } from './TextView'
export type { TextEditorHandle, TextProblem } from './TextEditor'
