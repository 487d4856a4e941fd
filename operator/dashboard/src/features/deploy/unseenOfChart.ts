/** Why a page does not know what a chart says of its values. */
import { Problem } from '~/lib/problem'
import type { Right } from '~/lib/rights'

/** One sentence each; null for what is known, also if the chart has none. */
export interface UnseenOfChart {
  defaults: string | null
  schema: string | null
}

export const ALL_SEEN: UnseenOfChart = { defaults: null, schema: null }
export const NOT_CHOSEN: UnseenOfChart = {
  defaults: 'Choose a chart first: its default values are shown here.',
  schema: null,
}

const NOT_READ = 'The chart could not be read.'

interface Configuration {
  layers: readonly { from: string; text: string | null }[]
  schema: unknown
}

/** `release`: the right to read the Helm release, which has the schema, and the defaults if the archive cannot be read. */
export function unseenOfConfiguration({ layers, schema }: Configuration, release: Right): UnseenOfChart {
  const hasDefaults = layers.every(({ from, text }) => from !== 'chart' || text !== null)
  if (release.allowed) return { defaults: hasDefaults ? null : NOT_READ, schema: null }
  return {
    defaults: hasDefaults ? null : 'Not visible: needs get secrets.',
    schema: schema === null ? 'The schema of this chart, if it has one, is not visible: needs get secrets.' : null,
  }
}

/** The same of a description of the chart, as it is read. */
export function unseenOfDescription({ data, error }: { data: unknown; error: unknown }): UnseenOfChart {
  if (data !== undefined) return ALL_SEEN
  if (error === null) return { defaults: 'The gateway reads the chart.', schema: null }
  const needs = error instanceof Problem ? error.needs : ''
  return { defaults: needs === '' ? NOT_READ : `Not visible. ${needs}.`, schema: null }
}
