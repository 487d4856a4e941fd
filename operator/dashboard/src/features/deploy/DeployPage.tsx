import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useMemo, useRef, useState } from 'react'

import { aboutQuery } from '~/api/queries/session'
import { usePermissions } from '~/api/usePermissions'
import { apiField, LABELS, type FieldName, type FieldProblems, type Method } from '~/lib/deploy/form'
import { setPreference } from '~/lib/preferences'
import { fieldErrors, Problem } from '~/lib/problem'
import { allOf, refused, type Right } from '~/lib/rights'
import { toast } from '~/lib/toasts'
import { Button } from '~/ui/Button'
import { CopyAs } from '~/ui/CopyAs'
import { RadioGroup } from '~/ui/Choices'
import { FormErrors } from '~/ui/FormErrors'
import { LeaveGuard } from '~/ui/LeaveGuard'
import { Notice } from '~/ui/Notice'
import { Page } from '~/ui/Page'
import { Card } from '~/ui/Panel'

import { factsOf } from './chartFacts'
import { deploymentCurl, deploymentKubectl } from './copyCommands'
import styles from './deploy.module.css'
import { localProblem } from '~/lib/localProblem'
import { IdentityFields, useComposedName } from './IdentityFields'
import { MoreOptions } from './MoreOptions'
import { PreviewPanel } from './PreviewPanel'
import { RepositoryChart } from './RepositoryChart'
import { UploadChart } from './UploadChart'
import { partsOf, useDeployActions, type Submission } from './useDeployActions'
import { useDeployForm } from './useDeployForm'
import { useElapsed } from '~/ui/useElapsed'
import { useMainKey } from './useMainKey'
import { ValuesEditor, type ValuesEditorHandle, type ValuesView } from './ValuesEditor'

/** As the gateway has them if nobody changes its settings. */
const CHART_BYTES_MAX = 1024 * 1024
const VALUES_BYTES_MAX = 1024 * 1024

const SUMMARY_LABELS: Readonly<Record<string, string>> = {
  ...Object.fromEntries((Object.keys(LABELS) as FieldName[]).map((name) => [apiField(name), LABELS[name]])),
  file: 'Chart file',
  values: 'Values',
  repository: 'Repository',
  provenance: 'Provenance file',
  username: 'User',
  password: 'Password',
  token: 'Token',
}

export function DeployPage() {
  const form = useDeployForm()
  const { draft, method, fields, chart, setField, blurField } = form
  const navigate = useNavigate()
  const [isDone, setDone] = useState(false)
  const [view, setView] = useState<ValuesView>('yours')
  const [local, setLocal] = useState<Problem | null>(null)
  const values = useRef<ValuesEditorHandle>(null)
  const { limits } = useQuery(aboutQuery).data ?? {}
  const name = useComposedName(fields)
  const facts = useMemo(() => factsOf(chart), [chart])
  const layersBelow = useMemo(() => [{ from: 'chart', text: facts.defaultsText }], [facts])
  const submission: Submission = { draft: draft.value, fields, method }

  const actions = useDeployActions((record, { fields: sent }) => {
    setPreference('organization', sent.organization.trim())
    setPreference('team', sent.team.trim())
    setPreference('namespace', sent.namespace.trim())
    setDone(true)
    draft.discard()
    toast(`Accepted: ${record.name}`)
    void navigate({
      to: '/xapps/$namespace/$name',
      params: { namespace: record.namespace, name: record.name },
      ignoreBlocker: true,
    })
  })
  const error = local ?? actions.error
  const problems = merged(form.problems, error)
  const right = allOf(
    useDeployRight(method, fields.namespace.trim(), fields.adopt),
    // What the chart fills in would be called missing.
    form.isReadingChart ? refused('The gateway is reading the chart') : null,
  )

  const checked = (run: (submission: Submission) => void) => () => {
    const found = new Map(form.check())
    if (method === 'upload' && draft.value.upload === null) found.set('file', 'Drop a packed chart (.tgz) first.')
    if (method === 'repository' && draft.value.repository === '') found.set('repository', 'Choose a repository.')
    actions.forgetError()
    setLocal(found.size > 0 ? localProblem(found) : null)
    if (found.size === 0) run(submission)
  }
  const runSubmit = checked(actions.runSubmit)
  const runPreview = checked(actions.runPreview)
  const isBusy = actions.isSubmitting || actions.isPreviewing
  const submit = (): void => {
    if (right.allowed && !isBusy) runSubmit()
  }
  useMainKey('Submit', submit)
  const change = (field: FieldName, value: string | boolean): void => {
    setLocal(null)
    setField(field, value)
  }
  const fieldProps = { fields, problems, onChange: change, onBlur: blurField }
  const sent = partsOf(submission)
  const command = {
    form: sent.form,
    fileName: sent.file?.name ?? null,
    provenanceName: sent.provenance?.name,
    valuesText: draft.value.valuesText,
  }
  return (
    <Page title="Deploy an xApp">
      <LeaveGuard when={draft.isDirty && !isDone} />
      <FormErrors
        error={error}
        fields={SUMMARY_LABELS}
        onFocusField={(field, line) => values.current?.showField(field, line) ?? false}
      />
      <div className={styles.form}>
        <Card title="Chart">
          <div className={styles.stack}>
            <RadioGroup
              label="Method"
              orientation="horizontal"
              items={[
                { id: 'upload', label: 'Upload Chart' },
                { id: 'repository', label: 'Remote Chart Repository' },
              ]}
              value={method}
              onChange={(id) => form.setMethod(id as Method)}
            />
            {method === 'upload' ? (
              <UploadChart
                upload={draft.value.upload}
                error={problems.get('file') ?? null}
                bytesMax={limits?.chartBytes ?? CHART_BYTES_MAX}
                onChange={(upload) => {
                  setLocal(null)
                  actions.forgetError()
                  draft.set((current) => ({ ...current, upload }))
                }}
                onChart={(file, described) =>
                  draft.set((current) =>
                    current.upload?.file === file ? { ...current, upload: { file, chart: described } } : current,
                  )
                }
              />
            ) : (
              <RepositoryChart
                {...fieldProps}
                repository={draft.value.repository}
                onRepository={form.setRepository}
                credentials={draft.value.credentials}
                onCredentials={(credentials) => draft.set((current) => ({ ...current, credentials }))}
                onVersion={form.setVersion}
                saveRight={right}
              />
            )}
          </div>
        </Card>
        <Card title="xApp">
          <div className={styles.stack}>
            {fields.adopt && (
              <Notice tone="info">
                {`The release ${fields.releaseName === '' ? 'of that name' : fields.releaseName} is taken over as it runs. It is not installed again if chart and values agree.`}
              </Notice>
            )}
            <IdentityFields {...fieldProps} />
          </div>
        </Card>
        <Card title="Values">
          <ValuesEditor
            ref={values}
            text={draft.value.valuesText}
            onChange={(valuesText) => draft.set((current) => ({ ...current, valuesText }))}
            view={view}
            onView={setView}
            chart={facts}
            noDefaults={
              chart === null
                ? 'Choose a chart first: its default values are shown here.'
                : 'This chart has no default values.'
            }
            layersBelow={layersBelow}
            refusal={
              actions.error instanceof Problem ? { errors: actions.error.errors, text: actions.refusedText } : null
            }
            valuesBytesMax={limits?.valuesBytes ?? VALUES_BYTES_MAX}
          />
        </Card>
        <MoreOptions
          {...fieldProps}
          isNew
          provenance={draft.value.provenance}
          onProvenance={
            method === 'upload' ? (provenance) => draft.set((current) => ({ ...current, provenance })) : null
          }
        />
        {actions.preview !== null && actions.previewOf !== null && (
          <PreviewPanel preview={actions.preview} isStale={!isSame(actions.previewOf, submission)} />
        )}
        <div className={styles.bar}>
          <Button
            variant="primary"
            right={right}
            isPending={actions.isSubmitting}
            onPress={runSubmit}
            tooltip="Ctrl+Enter"
          >
            Submit
          </Button>
          <Button right={right} isPending={actions.isPreviewing} onPress={runPreview}>
            Preview
          </Button>
          <CopyAs curl={deploymentCurl(command, null)} kubectl={deploymentKubectl(command, name)} />
          {draft.isDirty && !isBusy && (
            <Button variant="quiet" onPress={draft.discard}>
              Clear the form
            </Button>
          )}
          <Progress isBusy={isBusy} />
        </div>
      </div>
    </Page>
  )
}

function Progress({ isBusy }: { isBusy: boolean }) {
  const seconds = useElapsed(isBusy)
  if (seconds < 2) return null
  return (
    <span
      className={styles.muted}
      role="status"
    >{`The gateway checks chart, values and cluster: ${seconds} s of at most 60 s`}</span>
  )
}

/** What is wrong with each field: found here, or by the gateway. */
function merged(found: FieldProblems, error: unknown): FieldProblems {
  const all = new Map(found)
  for (const [field, errors] of fieldErrors(error)) all.set(field, errors.map(({ message }) => message).join(' '))
  return all
}

function isSame(one: Submission, other: Submission): boolean {
  return (
    one.draft === other.draft &&
    one.method === other.method &&
    JSON.stringify(one.fields) === JSON.stringify(other.fields)
  )
}

const NAMESPACE_NAME = /^[a-z0-9-]{1,63}$/

function useDeployRight(method: Method, namespace: string, adopts: boolean): Right {
  const named = NAMESPACE_NAME.test(namespace) ? namespace : undefined
  const { right } = usePermissions(named)
  if (named === undefined) {
    const offline = right('deploy')
    return offline.reason?.startsWith('Not connected') === true
      ? refused(offline.reason)
      : { allowed: true, reason: null }
  }
  return allOf(right(adopts ? 'adopt' : 'deploy'), method === 'upload' ? right('upload') : null)
}
