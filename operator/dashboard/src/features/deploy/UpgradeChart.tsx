import { useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'

import { repositoriesQuery } from '~/api/queries/repositories'
import { Notice } from '~/ui/Notice'
import { Text } from '~/ui/Text'

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
        <StoredChart form={form} />
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

/** Where the chart is that stays without another one. */
function StoredChart({ form }: { form: UpgradeForm }) {
  const kept = objectOf(form.archive)
  if (kept === null) {
    return form.draft.value.upload === null ? (
      <p className={styles.muted}>Without another chart, the one that is there stays.</p>
    ) : null
  }
  return (
    <Notice
      title={
        <>
          The chart of this xApp is kept in <Text>{`${kept.kind}/${kept.name}`}</Text>, key <Text>{kept.key}</Text>
        </>
      }
    >
      {`Without another file, it stays. A file that you choose here takes its place: the xApp does not read the ${kept.kind} any more. If a tool applies this XApp from Git, change the chart there instead, or the tool undoes the upgrade.`}
    </Notice>
  )
}

/** Returns the Secret or ConfigMap that holds the chart; null if it was uploaded. */
function objectOf(archive: UpgradeForm['archive']): { kind: string; name: string; key: string } | null {
  for (const [field, kind] of [
    ['secretRef', 'Secret'],
    ['configMapRef', 'ConfigMap'],
  ] as const) {
    const reference = archive?.[field] as { name: string; key: string } | null | undefined
    if (reference) return { kind, ...reference }
  }
  return null
}
