import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue } from 'react'

import { chartVersionQuery } from '~/api/queries/charts'
import { chartsQuery, saveRepository, type Repository } from '~/api/queries/repositories'
import { useFetchLimit } from '~/api/useFetchLimit'
import { apiField, LABELS } from '~/lib/deploy/form'
import { describeError, fieldErrors } from '~/lib/problem'
import { isPlainHttp, PLAIN_HTTP_LABEL } from '~/lib/repositories/form'
import { allOf, refused, type Right } from '~/lib/rights'
import { Button } from '~/ui/Button'
import { Checkbox, RadioGroup } from '~/ui/Choices'
import { ComboBox } from '~/ui/ComboBox'
import { CopyAs } from '~/ui/CopyAs'
import { Notice } from '~/ui/Notice'
import { Text } from '~/ui/Text'
import { TextField } from '~/ui/TextField'
import { Waiting } from '~/ui/Waiting'

import { ChartSummary } from './ChartSummary'
import { NO_CREDENTIALS, type Credentials } from './deployDraft'
import styles from './deploy.module.css'
import { FormField, type FieldsProps } from './IdentityFields'
import { RepositoryField } from './RepositoryField'
import { idOf, useSavedRepository } from './useSavedRepository'
import { useOfferedVersions } from './useOfferedVersions'
import {
  credentialField,
  inDeployForm,
  NEW_REPOSITORY,
  newRepository,
  newRepositoryProblem,
  saveCommands,
} from './newRepository'

interface ChosenProps extends FieldsProps {
  chosen: Repository | null
}

interface RepositoryChartProps extends FieldsProps {
  /** `namespace/name`, `new`, or empty. */
  repository: string
  onRepository: (id: string, found: Repository | null) => void
  credentials: Credentials
  onCredentials: (credentials: Credentials) => void
  onVersion: (version: string) => void
  saveRight: Right
}

/** A chart of a repository: a saved one, or the address of a new one. */
export function RepositoryChart(props: RepositoryChartProps) {
  const { repository, onRepository } = props
  const chosen = useSavedRepository(repository, true)
  return (
    <div className={styles.stack}>
      <RepositoryField repository={repository} chosen={chosen} onRepository={onRepository} />
      {chosen !== null && !chosen.ready && (
        <Notice tone="warn" title="This repository is not ready">
          <Text>{chosen.message ?? ''}</Text>
        </Notice>
      )}
      {chosen !== null && <NamespaceNote repository={chosen} namespace={props.fields.namespace.trim()} />}
      {repository === NEW_REPOSITORY && <NewRepositoryFields {...props} />}
      {repository !== '' && (
        <div className={styles.fields}>
          <ChartField {...props} chosen={chosen} />
          <VersionField {...props} chosen={chosen} />
        </div>
      )}
      {chosen !== null && (
        <ChosenChart chosen={chosen} chart={props.fields.chartName} version={chosenVersion(props.fields)} />
      )}
    </div>
  )
}

/** The version of the chart that is asked for: that of the xApp, unless another one is given. */
export function chosenVersion({ chartVersion, version }: { chartVersion: string; version: string }): string {
  return chartVersion.trim() === '' ? version.trim() : chartVersion.trim()
}

function NamespaceNote({ repository, namespace }: { repository: Repository; namespace: string }) {
  if (namespace === '' || namespace === repository.namespace) return null
  return (
    <Notice tone="info">
      {`${repository.name} is saved in ${repository.namespace}. Submit saves its address in ${namespace} too, without credentials.`}
    </Notice>
  )
}

function NewRepositoryFields(props: RepositoryChartProps) {
  const { fields, credentials, onCredentials, onRepository, saveRight } = props
  const queryClient = useQueryClient()
  const save = useMutation({
    mutationFn: async () => {
      try {
        return await saveRepository(newRepository(fields, credentials))
      } catch (error) {
        throw inDeployForm(error)
      }
    },
    onSuccess: async (repository) => {
      await queryClient.invalidateQueries({ queryKey: ['repositories'] })
      onRepository(idOf(repository), repository)
      // They are at the gateway now, and needed no more.
      onCredentials(NO_CREDENTIALS)
    },
  })
  const problems = new Map(props.problems)
  for (const [field, errors] of fieldErrors(save.error)) {
    problems.set(field, errors.map(({ message }) => message).join(' '))
  }
  const set = (part: Partial<Credentials>): void => onCredentials({ ...credentials, ...part })
  const isPlain = isPlainHttp(fields.url)
  const plainHttp = newRepositoryProblem(fields, credentials)
  const isComplete = fields.repoName.trim() !== '' && fields.url.trim() !== '' && fields.namespace.trim() !== ''
  const right = allOf(
    isComplete ? null : refused('Give name, URL and namespace first'),
    plainHttp === null ? null : refused(plainHttp),
    saveRight,
  )
  return (
    <div className={styles.stack}>
      <div className={styles.fields}>
        <FormField
          {...props}
          problems={problems}
          name="repoName"
          isRequired
          description="Under this name the address is saved"
        />
        <FormField {...props} problems={problems} name="url" isRequired description="https://, http:// or oci://" />
      </div>
      <RadioGroup
        label="Credentials"
        orientation="horizontal"
        items={[
          { id: 'none', label: 'None' },
          { id: 'basic', label: 'User and password' },
          { id: 'token', label: 'Token' },
        ]}
        value={credentials.kind}
        onChange={(kind) => set({ kind: kind as Credentials['kind'] })}
      />
      {credentials.kind === 'basic' && (
        <div className={styles.fields}>
          <TextField
            label="User"
            name={credentialField('username')}
            value={credentials.username}
            onChange={(username) => set({ username })}
            autoComplete="off"
            error={problems.get(credentialField('username'))}
          />
          <TextField
            label="Password"
            name={credentialField('password')}
            type="password"
            value={credentials.password}
            onChange={(password) => set({ password })}
            autoComplete="new-password"
            error={problems.get(credentialField('password'))}
          />
        </div>
      )}
      {credentials.kind === 'token' && (
        <TextField
          label="Token"
          name={credentialField('token')}
          type="password"
          value={credentials.token}
          onChange={(token) => set({ token })}
          autoComplete="new-password"
          error={problems.get(credentialField('token'))}
        />
      )}
      {credentials.kind !== 'none' && (isPlain || credentials.allowPlainHTTP) && (
        <Checkbox
          label={PLAIN_HTTP_LABEL}
          isSelected={credentials.allowPlainHTTP}
          onChange={(allowPlainHTTP) => set({ allowPlainHTTP })}
        />
      )}
      <div className={styles.row}>
        <Button right={right} tooltipPlacement="bottom" isPending={save.isPending} onPress={() => save.mutate()}>
          Save and browse
        </Button>
        {isComplete && <CopyAs {...saveCommands(fields, credentials)} />}
        <Waiting what="The gateway saves the repository" isRunning={save.isPending} />
        <span className={styles.muted}>
          {credentials.kind === 'none'
            ? 'Or type the chart and its version: Submit saves the address.'
            : 'Or type the chart and its version: Preview reads it with these credentials, and Submit saves them.'}
        </span>
      </div>
      {save.error !== null && (
        <Notice tone="bad" title={describeError(save.error).title}>
          <Text multiline>{describeError(save.error).detail}</Text>
        </Notice>
      )}
    </div>
  )
}

const READING_INDEX = { waitsFor: 'The gateway reads the index of the repository' }
const EXACT_OR_RANGE = 'An exact version, or a range such as >=0.2 <1'
/** A chart with more of them is searched by the gateway. */
const VERSIONS_SHOWN = 100

export function ChartField({ fields, problems, onChange, onBlur, chosen }: ChosenProps) {
  const search = useDeferredValue(fields.chartName.trim())
  const fetchSeconds = useFetchLimit()
  const canList = chosen !== null && chosen.type !== 'oci'
  const charts = useQuery({
    ...chartsQuery(chosen?.namespace ?? '', chosen?.name ?? '', { search, per_page: 100 }),
    enabled: canList,
    retry: false,
  })
  const { content = [], total_count: total = 0 } = (canList ? charts.data : undefined) ?? {}
  const items = content.map(({ name, latest, description }) => ({
    id: name,
    label: name,
    description: [latest, description].filter((part) => part !== null && part !== '').join(', '),
  }))
  return (
    <ComboBox
      label={LABELS.chartName}
      name={apiField('chartName')}
      items={items}
      value={fields.chartName}
      onChange={(value) => onChange('chartName', value)}
      onBlur={() => onBlur('chartName')}
      isFiltered
      read={canList ? { what: 'charts', query: charts, ...READING_INDEX, waitsAtMost: fetchSeconds } : undefined}
      isRequired
      description={
        chosen?.type === 'oci' ? (
          'A registry cannot list its charts: type the name.'
        ) : total > items.length ? (
          `Showing ${items.length} of ${total}: type to search`
        ) : (
          <Waiting what={READING_INDEX.waitsFor} isRunning={canList && charts.isLoading} atMost={fetchSeconds} />
        )
      }
      error={problems.get(apiField('chartName'))}
    />
  )
}

export function VersionField({
  fields,
  problems,
  onVersion,
  onBlur,
  chosen,
}: ChosenProps & { onVersion: (version: string) => void }) {
  const chart = useDeferredValue(fields.chartName.trim())
  const value = chosenVersion(fields)
  const { versions, total, query } = useOfferedVersions(chosen, chart, value)
  const items = versions.map(({ version, appVersion }) => ({
    id: version,
    label: version,
    description: appVersion === null ? '' : `app ${appVersion}`,
  }))
  return (
    <ComboBox
      label={LABELS.chartVersion}
      name={apiField('chartVersion')}
      items={items}
      value={value}
      onChange={onVersion}
      onBlur={() => onBlur('chartVersion')}
      isFiltered
      read={chosen === null || chart === '' ? undefined : { what: 'versions', query, ...READING_INDEX }}
      isRequired
      description={
        total > VERSIONS_SHOWN
          ? `${EXACT_OR_RANGE}. Showing ${versions.length} of ${total}: type to search`
          : EXACT_OR_RANGE
      }
      error={problems.get(apiField('chartVersion')) ?? null}
    />
  )
}

export function ChosenChart({ chosen, chart, version }: { chosen: Repository; chart: string; version: string }) {
  const query = useChosenChart(chosen, chart, version)
  const fetchSeconds = useFetchLimit()
  if (query.data) return <ChartSummary chart={query.data} />
  if (query.isFetching) return <Waiting what="The gateway reads the chart" atMost={fetchSeconds} />
  if (query.error === null) return null
  return (
    <Notice tone="warn" title={describeError(query.error).title}>
      <Text multiline>{describeError(query.error).detail}</Text>
    </Notice>
  )
}

const EXACT_VERSION = /^v?\d+(?:\.\d+)*(?:[-+][0-9A-Za-z.+-]+)?$/

/** The description of the chosen chart, once repository, chart and an exact version are known. */
export function useChosenChart(chosen: Pick<Repository, 'namespace' | 'name'> | null, chart: string, version: string) {
  const [name, exact] = [useDeferredValue(chart.trim()), useDeferredValue(version)]
  const isKnown = chosen !== null && name !== '' && EXACT_VERSION.test(exact)
  return useQuery({ ...chartVersionQuery(chosen?.namespace ?? '', chosen?.name ?? '', name, exact), enabled: isKnown })
}
