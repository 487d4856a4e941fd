/** What was typed on the pages of one xApp and not sent. */

import { drafts } from '~/lib/drafts'

/** The key of the values of an xApp that are being edited. */
export function valuesDraftKey(namespace: string, name: string): string {
  return `values:${namespace}/${name}`
}

/** The key of the form that upgrades an xApp. */
export function upgradeDraftKey(namespace: string, name: string): string {
  return `upgrade:${namespace}/${name}`
}

/** What was typed for an xApp and not sent. */
interface Typed {
  /** Null: its values were not edited. */
  valuesText: string | null
  /** What the form of its upgrade holds besides, as that page keeps it. */
  upgrade: unknown
}

/** Returns what was typed on the pages of an xApp. Of values that were edited on two pages, the last ones. */
export function typedOf(namespace: string, name: string): Typed {
  const [ofValues, ofUpgrade] = [valuesDraftKey(namespace, name), upgradeDraftKey(namespace, name)]
  let valuesText: string | null = null
  for (const [key, draft] of drafts.get()) {
    if (key === ofValues) valuesText = textOf(draft, 'text') ?? valuesText
    if (key === ofUpgrade) valuesText = textOf(draft, 'valuesText') ?? valuesText
  }
  return { valuesText, upgrade: drafts.get().get(ofUpgrade) }
}

function textOf(draft: unknown, member: string): string | null {
  const text = (draft as Readonly<Record<string, unknown>> | null)?.[member]
  return typeof text === 'string' ? text : null
}
