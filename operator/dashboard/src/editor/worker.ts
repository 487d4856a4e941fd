/**
 * Checks values apart from the page: a schema is written by others, and a regular expression in it can take forever.
 *
 * The page ends this worker if a step takes too long: what stands in the text after `started`, the schema after `read`.
 */
import { checkValues, checkValuesSchema, type ChartFacts } from '~/lib/values/checkValues'

export type WorkerRequest = { kind: 'chart'; chart: ChartFacts } | { kind: 'check'; id: number; text: string }

const NO_CHART: ChartFacts = { defaultsText: '', schemaText: null, dependencies: [] }
let chart = NO_CHART

self.addEventListener('message', ({ data }: MessageEvent<WorkerRequest>) => {
  if (data.kind === 'chart') {
    chart = data.chart
    return
  }
  const { id, text } = data
  self.postMessage({ kind: 'started', id })
  self.postMessage({ kind: 'read', id, problems: checkValues(text, chart) })
  self.postMessage({ kind: 'done', id, schema: checkValuesSchema(text, chart) })
})
