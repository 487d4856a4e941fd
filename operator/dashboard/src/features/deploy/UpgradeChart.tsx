import { useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'

import { repositoriesQuery } from '~/api/queries/repositories'

import styles from './deploy.module.css'
import type { FieldsProps } from './IdentityFields'
import { ChartField, VersionField, ChosenChart, chosenVersion } from './RepositoryChart'
import { FormField } from './IdentityFields'
import { UploadChart } from './UploadChart'
import type { UpgradeForm } from './useUpgradeForm'

interface UpgradeChartProps extends FieldsProps {
  form: UpgradeForm
  namespace: string
  bytesMax: number
}

/** The chart that an upgrade brings: another file, or another version of the repository. */
export function UpgradeChart({ form, namespace, bytesMax, ...props }: UpgradeChartProps) {
  const { draft, method } = form
  const name = useDeferredValue(props.fields.repoName.trim())
  const saved = useQuery({
    // A namespace may have more repositories than one page.
    ...repositoriesQuery({ namespace, search: name, per_page: 100, sort: 'name' }),
    enabled: method === 'repository',
    retry: false,
  })
  if (method === 'upload') {
    return (
      <div className={styles.stack}>
        {draft.value.upload === null && (
          <p className={styles.muted}>Without another chart, the one that is there stays.</p>
        )}
        <UploadChart
          upload={draft.value.upload}
          error={props.problems.get('file') ?? null}
          bytesMax={bytesMax}
          onChange={(upload) => draft.set((current) => ({ ...current, upload }))}
          onChart={(file, chart) =>
            draft.set((current) => (current.upload?.file === file ? { ...current, upload: { file, chart } } : current))
          }
        />
      </div>
    )
  }
  const chosen = saved.data?.content.find((each) => each.name === name) ?? null
  return (
    <div className={styles.stack}>
      <div className={styles.fields}>
        <FormField {...props} name="repoName" isRequired />
        <FormField {...props} name="url" isRequired />
        <ChartField {...props} chosen={chosen} />
        <VersionField {...props} chosen={chosen} onVersion={form.setVersion} />
      </div>
      {chosen !== null && (
        <ChosenChart chosen={chosen} chart={props.fields.chartName} version={chosenVersion(props.fields)} />
      )}
    </div>
  )
}
