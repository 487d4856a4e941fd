import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useMemo, useRef, useState } from 'react'

import { aboutQuery } from '~/api/queries/session'
import { useRenderLimit } from '~/api/useFetchLimit'
import { usePermissionsToSend } from '~/api/usePermissions'
import { apiField, LABELS, type FieldName, type FieldProblems, type Method } from '~/lib/deploy/form'
import { setPreference } from '~/lib/preferences'
import { fieldErrors, Problem } from '~/lib/problem'
import { allOf, refused, type Right } from '~/lib/rights'
import { toast } from '~/lib/toasts'
import { ADOPTION_WITHOUT_HELM } from '~/lib/xapp/withoutHelm'
import { Button } from '~/ui/Button'
import { CopyAs } from '~/ui/CopyAs'
import { RadioGroup } from '~/ui/Choices'
import { DiscardButton, UndoDiscard } from '~/ui/DiscardButton'
import { FormErrors } from '~/ui/FormErrors'
import { LeaveGuard } from '~/ui/LeaveGuard'
import { Notice } from '~/ui/Notice'
import { Page } from '~/ui/Page'
import { Card } from '~/ui/Panel'
import { useStrayDrops } from '~/ui/useStrayDrops'

import { factsOf } from './chartFacts'
import { deploymentCurl, deploymentKubectl } from './copyCommands'
import styles from './deploy.module.css'
import { localProblem } from '~/lib/localProblem'
import { IdentityFields, useComposedName } from './IdentityFields'
import { adoptInForm, MoreOptions } from './MoreOptions'
import { credentialField, NEW_REPOSITORY, newRepositoryProblem, repositoryPartToCopy } from './newRepository'
import { PreviewPanel } from './PreviewPanel'
import { RepositoryChart } from './RepositoryChart'
import { StoredChartState } from './StoredChartState'
import { ALL_SEEN, NOT_CHOSEN } from './unseenOfChart'
import { UploadChart } from './UploadChart'
import { handOver } from './upgradeFromDeploy'
import { partsOf, useDeployActions, type Submission } from './useDeployActions'
import { useDeployForm } from './useDeployForm'
import { UploadWaiting } from './UploadWaiting'
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
  [credentialField('username')]: 'User',
  [credentialField('password')]: 'Password',
  [credentialField('token')]: 'Token',
}

export function DeployPage() {
  const form = useDeployForm()
  const { draft, filled, method, fields, chart, setField, blurField } = form
  const navigate = useNavigate()
  const [isDone, setDone] = useState(false)
  const [view, setView] = useState<ValuesView>('yours')
  const [local, setLocal] = useState<Problem | null>(null)
  const values = useRef<ValuesEditorHandle>(null)
  const renderSeconds = useRenderLimit()
  const { limits } = useQuery(aboutQuery).data ?? {}
  const name = useComposedName(fields)
  const facts = useMemo(() => factsOf(chart), [chart])
  const layersBelow = useMemo(() => [{ from: 'chart', text: facts.defaultsText }], [facts])
  const submission: Submission = { draft: filled, fields, method }

  const actions = useDeployActions((record, { fields: sent }) => {
    setPreference('organization', sent.organization.trim())
    setPreference('team', sent.team.trim())
    setPreference('namespace', sent.namespace.trim())
    setDone(true)
    form.forget()
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
    useDeployRight(submission),
    // What the chart fills in would be called missing.
    form.isReadingChart ? refused('The gateway is reading the chart') : null,
  )

  const checked = (run: (submission: Submission) => void) => () => {
    const found = new Map(form.check())
    if (method === 'upload' && filled.upload === null) found.set('file', 'Drop a packed chart (.tgz) first.')
    const isNewRepository = method === 'repository' && draft.value.repository === NEW_REPOSITORY
    const hasNone = draft.value.repository === '' || fields.url === ''
    if (method === 'repository' && !isNewRepository && hasNone) found.set('repository', 'Choose a repository.')
    const plainHttp = isNewRepository ? newRepositoryProblem(fields, draft.value.credentials) : null
    if (plainHttp !== null && !found.has(apiField('url'))) found.set(apiField('url'), plainHttp)
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
  useMainKey(submit)
  useStrayDrops()
  const change = (field: FieldName, value: string | boolean): void => {
    setLocal(null)
    setField(field, value)
  }
  const handToUpgrade = (pathname: string): boolean => {
    const namespace = fields.namespace.trim()
    if (name === null || pathname !== `/xapps/${namespace}/${name}/upgrade`) return false
    handOver(namespace, name, submission)
    form.keepUntilBack()
    return true
  }
  const fieldProps = { fields, problems, onChange: change, onBlur: blurField }
  const sent = partsOf(submission)
  const command = {
    form: sent.form,
    fileName: sent.file?.name ?? null,
    provenanceName: sent.provenance?.name,
    valuesText: draft.value.valuesText,
    repository: sent.repository && repositoryPartToCopy(draft.value.credentials),
  }
  return (
    <Page title="Deploy an xApp">
      <LeaveGuard when={draft.isUnsent && !isDone} handTo={handToUpgrade} />
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
              <>
                <StoredChartState draft={draft.value} />
                <UploadChart
                  upload={filled.upload}
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
              </>
            ) : (
              <RepositoryChart
                {...fieldProps}
                repository={draft.value.repository}
                onRepository={form.setRepository}
                credentials={draft.value.credentials}
                onCredentials={(credentials) => {
                  setLocal(null)
                  draft.set((current) => ({ ...current, credentials }))
                }}
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
                {form.adoptsWithoutHelm
                  ? `${fields.releaseName} has no Helm release. ${ADOPTION_WITHOUT_HELM}`
                  : `The release ${fields.releaseName === '' ? 'of that name' : fields.releaseName} is taken over as it runs. It is not installed again if chart and values agree. Without a release, objects of the chart that exist already are taken over.`}
              </Notice>
            )}
            <IdentityFields {...fieldProps} versionNote={form.versionNote} />
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
            unseen={chart === null ? NOT_CHOSEN : ALL_SEEN}
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
          provenance={filled.provenance}
          onProvenance={
            method === 'upload' ? (provenance) => draft.set((current) => ({ ...current, provenance })) : null
          }
        />
        {actions.preview !== null && actions.previewOf !== null && (
          <PreviewPanel
            preview={actions.preview}
            isStale={!isSame(actions.previewOf, submission)}
            onAdopt={adoptInForm(fields, change)}
          />
        )}
        <div className={styles.bar}>
          <CopyAs curl={deploymentCurl(command, null)} kubectl={deploymentKubectl(command, name)} />
          <DiscardButton isChanged={draft.isDirty} isBusy={isBusy} onDiscard={form.clearing.discard}>
            Clear the form
          </DiscardButton>
          <Button right={right} isPending={actions.isPreviewing} onPress={runPreview}>
            Preview
          </Button>
          <Button
            variant="primary"
            right={right}
            isPending={actions.isSubmitting}
            onPress={runSubmit}
            tooltip="Ctrl+Enter"
          >
            Submit
          </Button>
          <UndoDiscard undo={form.clearing.undo} />
          <UploadWaiting
            what="The gateway checks chart, values and cluster"
            isRunning={isBusy}
            atMost={renderSeconds}
          />
        </div>
      </div>
    </Page>
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

function useDeployRight({ draft, fields, method }: Submission): Right {
  const namespace = fields.namespace.trim()
  const named = NAMESPACE_NAME.test(namespace) ? namespace : undefined
  const { right } = usePermissionsToSend(named)
  const isNew = method === 'repository' && draft.repository === NEW_REPOSITORY
  return allOf(
    right(fields.adopt ? 'adopt' : 'deploy'),
    right(method === 'upload' ? 'upload' : 'viewRepository'),
    isNew ? right('addRepository') : null,
    isNew && draft.credentials.kind !== 'none' ? right('storeCredentials') : null,
  )
}
