import type { ChartDescription } from '~/api/queries/charts'
import type { ChartFacts } from '~/lib/values/checkValues'

export const NO_CHART: ChartFacts = { defaultsText: '', schemaText: null, dependencies: [] }

/** What the editor and the form need to know of a chart. */
export function factsOf(chart: ChartDescription | null | undefined): ChartFacts {
  if (!chart) return NO_CHART
  return {
    defaultsText: chart.valuesText ?? '',
    schemaText: chart.schema === null ? null : JSON.stringify(chart.schema),
    dependencies: chart.dependencies,
  }
}
