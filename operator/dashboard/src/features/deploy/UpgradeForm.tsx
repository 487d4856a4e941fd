import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMemo, useRef, useState } from 'react'

import { xappChartQuery } from '~/api/queries/charts'
import { previewUpgrade, upgrade as sendUpgrade, type DryRun, type XAppSpecification } from '~/api/queries/deployments'
import { aboutQuery } from '~/api/queries/session'
import type { XAppConfiguration } from '~/api/queries/values'
import { xappQuery } from '~/api/queries/xapps'
import { useRenderLimit } from '~/api/useFetchLimit'
import { usePermissions } from '~/api/usePermissions'
import { apiField, LABELS, type DeployFields, type FieldName } from '~/lib/deploy/form'
import { fieldErrors, Problem } from '~/lib/problem'
import { allOf, ALLOWED, refused } from '~/lib/rights'
import { toast } from '~/lib/toasts'
import { stringifyYaml } from '~/lib/values/yamlText'
import { Button } from '~/ui/Button'
import { classes } from '~/ui/classes'
import { CopyAs } from '~/ui/CopyAs'
import { DiscardButton, UndoDiscard } from '~/ui/DiscardButton'
import { FormErrors } from '~/ui/FormErrors'
import { LeaveGuard } from '~/ui/LeaveGuard'
import { Notice } from '~/ui/Notice'
import { Text } from '~/ui/Text'
import { useStrayDrops } from '~/ui/useStrayDrops'

import { factsOf } from './chartFacts'
import { ConflictBar, conflictTitle, isConflictProblem } from '~/editor/ConflictBar'
import { deploymentCurl, upgradeKubectl } from './copyCommands'
import styles from './deploy.module.css'
import { HeldNotice } from './HeldNotice'
import { FormField } from './IdentityFields'
import { localProblem } from '~/lib/localProblem'
import { goneXApps, rightUntilGone } from '~/lib/goneXApps'
import { useStore } from '~/lib/useStore'
import { adoptInForm, MoreOptions } from './MoreOptions'
import { PreviewPanel } from './PreviewPanel'
import { ALL_SEEN, unseenOfDescription } from './unseenOfChart'
import { UpgradeChart } from './UpgradeChart'
import { UploadWaiting } from './UploadWaiting'
import { useMainKey } from './useMainKey'
import { upgradeParts, useUpgradeForm } from './useUpgradeForm'
import { ValuesEditor, type ValuesEditorHandle, type ValuesView } from './ValuesEditor'

const route = getRouteApi('/xapps/$namespace/$name/upgrade')

const BYTES_MAX = 1024 * 1024
const IDENTITY: readonly FieldName[] = ['xAppName', 'organization', 'team', 'namespace']

const SUMMARY_LABELS: Readonly<Record<string, string>> = {
  ...Object.fromEntries((Object.keys(LABELS) as FieldName[]).map((name) => [apiField(name), LABELS[name]])),
  file: 'Chart file',
  values: 'Values',
  provenance: 'Provenance file',
}

/** Why nothing was written, and the values that were sent. */
interface Refusal {
  error: unknown
  text: string
  /** Null: nobody typed values, so `text` changes when others store theirs. */
  typedValues: string | null
}

interface UpgradeFormProps {
  specification: XAppSpecification
  configuration: XAppConfiguration
  refetch: () => void
}

export function UpgradeForm({ specification, configuration, refetch }: UpgradeFormProps) {
  const { namespace, name } = route.useParams()
  const search = route.useSearch()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const theirs = configuration.layers.find(({ from }) => from === 'yours')?.text ?? ''
  const navigateHere = route.useNavigate()
  const form = useUpgradeForm({
    namespace,
    name,
    specification,
    theirs,
    search,
    setSearch: (next) => void navigateHere({ search: next, replace: true }),
  })
  const { draft, method, fields, stored, chart } = form
  const values = useRef<ValuesEditorHandle>(null)
  const [isDone, setDone] = useState(false)
  const [view, setView] = useState<ValuesView>('yours')
  const record = useQuery(xappQuery(namespace, name)).data
  const current = useQuery(xappChartQuery(namespace, name))
  const renderSeconds = useRenderLimit()
  const { limits } = useQuery(aboutQuery).data ?? {}
  const { right } = usePermissions(namespace, name)
  const [error, setError] = useState<Refusal | null>(null)
  const [previewed, setPreviewed] = useState<{ result: DryRun; of: string } | null>(null)

  const parts = upgradeParts({ draft: draft.value, method, stored, fields })
  const { uid, generation } = specification
  const isReplaced = draft.isDirty && uid !== draft.value.uid
  const isConflict = isReplaced || (draft.isDirty && generation !== draft.value.generation)
  const edited = { namespace, name, uid: draft.value.uid, generation: draft.value.generation }
  const snapshot = JSON.stringify([
    parts.form,
    parts.values ?? null,
    parts.file?.name ?? null,
    parts.file?.lastModified ?? null,
    edited.uid,
    edited.generation,
  ])
  const refusal = (problem: unknown): Refusal => ({
    error: problem,
    text: form.valuesText,
    typedValues: draft.value.valuesText,
  })
  const failed = (problem: unknown): void => {
    setError(refusal(problem))
    if (isConflictProblem(problem)) refetch()
  }
  const preview = useMutation({
    mutationFn: () => previewUpgrade(edited, parts),
    onMutate: () => ({ of: snapshot }),
    onSuccess: (result, _, { of }) => setPreviewed({ result, of }),
    onError: failed,
  })
  const upgrade = useMutation({
    mutationFn: () => sendUpgrade(edited, parts),
    onSuccess: (answer) => {
      setDone(true)
      draft.discard()
      toast(`Accepted: ${answer.name}`)
      void queryClient.invalidateQueries({ queryKey: ['xapps'] })
      void navigate({ to: '/xapps/$namespace/$name', params: { namespace, name }, ignoreBlocker: true })
    },
    onError: failed,
  })
  const isFresh = !isConflict && previewed?.of === snapshot
  const isBusy = preview.isPending || upgrade.isPending
  const goneAt = useStore(goneXApps).get(`${namespace}/${name}`)
  const canWrite = allOf(
    rightUntilGone(goneAt),
    right('upgrade'),
    method === 'upload' && draft.value.upload !== null ? right('upload') : ALLOWED,
    isConflict ? refused(`${conflictTitle(isReplaced)}: decide first what to do`) : ALLOWED,
    form.isChanged || isDone ? ALLOWED : refused('You have not changed anything'),
  )
  const checked = (run: () => void) => () => {
    const found = form.check()
    setError(found.size > 0 ? refusal(localProblem(found)) : null)
    if (found.size === 0) run()
  }
  const runPreview = checked(() => preview.mutate())
  const runUpgrade = checked(() => upgrade.mutate())
  const main = (): void => {
    if (!canWrite.allowed || isBusy) return
    if (isFresh) runUpgrade()
    else runPreview()
  }
  useMainKey(main)
  useStrayDrops()
  const problems = new Map(form.problems)
  for (const [field, errors] of fieldErrors(error?.error))
    problems.set(field, errors.map(({ message }) => message).join(' '))
  const facts = useMemo(() => factsOf(chart), [chart])
  const layersBelow = useMemo(() => {
    const between = configuration.layers.filter(({ from }) => from !== 'yours' && from !== 'chart')
    return [{ from: 'chart', text: facts.defaultsText }, ...between]
  }, [facts, configuration.layers])
  const held = record?.heldRevision ?? null
  const setValues = (text: string): void =>
    draft.set((current) => ({ ...current, valuesText: text === current.baseValues ? null : text }))
  const fieldProps = { fields, problems, onChange: form.setField, onBlur: form.blurField }
  const command = {
    form: parts.form,
    fileName: parts.file?.name ?? null,
    provenanceName: parts.provenance?.name,
    valuesText: parts.values ?? null,
  }
  return (
    <div className={styles.form}>
      <LeaveGuard when={draft.isUnsent && !isDone} />
      <FormErrors
        error={error?.error ?? null}
        fields={SUMMARY_LABELS}
        onFocusField={(field, line) => values.current?.showField(field, line) ?? false}
      />
      {isConflict && (
        <ConflictBar
          base={comparedText(draft.value.baseFields, draft.value.baseValues)}
          theirs={comparedText(stored, theirs)}
          mine={comparedText(fields, form.valuesText)}
          isReplaced={isReplaced}
          at={record === undefined ? null : isReplaced ? record.createdAt : record.updatedAt}
          isRefused={isConflictProblem(error?.error) && error?.typedValues === draft.value.valuesText}
          isReading={configuration.uid !== uid || configuration.generation !== generation}
          onTakeTheirs={() => {
            setError(null)
            form.discarding.discard()
          }}
          onKeepMine={() => {
            setError(null)
            draft.set((current) => ({ ...current, baseValues: theirs, baseFields: stored, uid, generation }))
          }}
        />
      )}
      <dl className={styles.facts}>
        {IDENTITY.map((field) => (
          <Fact key={field} label={LABELS[field]} value={String(stored[field])} />
        ))}
        <Fact
          label="Now"
          value={`version ${stored.version}${record?.release ? `, chart ${record.release.chart} ${record.release.chartVersion}` : ''}`}
        />
      </dl>
      {draft.value.isChartLeftOut === true && (
        <Notice tone="info">
          {`Fields and values are those of the page Deploy, but not its chart: the chart of this xApp comes from ${method === 'upload' ? 'a file' : 'a saved repository'}.`}
        </Notice>
      )}
      <UpgradeChart {...fieldProps} form={form} namespace={namespace} bytesMax={limits?.chartBytes ?? BYTES_MAX} />
      <div className={styles.fields}>
        <FormField {...fieldProps} name="version" isRequired description={form.versionNote} />
        <FormField {...fieldProps} name="owner" isRequired />
      </div>
      {held !== null && (
        <HeldNotice
          key={held}
          namespace={namespace}
          name={name}
          revision={held}
          text={form.valuesText}
          onChange={setValues}
          right={right('upgrade')}
        />
      )}
      <ValuesEditor
        ref={values}
        text={form.valuesText}
        onChange={setValues}
        view={view}
        onView={setView}
        chart={facts}
        unseen={chart === null ? unseenOfDescription(current) : ALL_SEEN}
        layersBelow={layersBelow}
        refusal={error?.error instanceof Problem ? { errors: error.error.errors, text: error.text } : null}
        valuesBytesMax={limits?.valuesBytes ?? BYTES_MAX}
      />
      <MoreOptions
        {...fieldProps}
        isNew={false}
        provenance={draft.value.provenance}
        onProvenance={
          draft.value.upload === null ? null : (provenance) => draft.set((current) => ({ ...current, provenance }))
        }
      />
      {previewed !== null && (
        <PreviewPanel
          preview={previewed.result}
          isStale={!isFresh}
          isConflict={isConflict}
          onAdopt={adoptInForm(fields, form.setField)}
        />
      )}
      <div className={classes(styles.bar, styles.barInCard)}>
        <CopyAs curl={deploymentCurl(command, edited)} kubectl={upgradeKubectl(command, specification.form, edited)} />
        <DiscardButton isChanged={form.isChanged} isBusy={isBusy} onDiscard={form.discarding.discard}>
          Discard
        </DiscardButton>
        <Button
          variant={isFresh ? 'default' : 'primary'}
          right={canWrite}
          isPending={preview.isPending}
          onPress={runPreview}
        >
          Preview
        </Button>
        <Button
          variant={isFresh ? 'primary' : 'default'}
          right={allOf(canWrite, isFresh ? ALLOWED : refused('Look at the preview first'))}
          isPending={upgrade.isPending}
          onPress={runUpgrade}
          tooltip="Ctrl+Enter"
        >
          Upgrade
        </Button>
        <UndoDiscard undo={form.discarding.undo} />
        <UploadWaiting what="The gateway renders the chart" isRunning={isBusy} atMost={renderSeconds} />
      </div>
    </div>
  )
}

/** Fields and values as one text, to compare what others stored meanwhile with what is typed here. */
function comparedText(fields: DeployFields, valuesText: string): string {
  const given = Object.entries(fields).filter(([, value]) => value !== '' && value !== false)
  return `# Fields\n${stringifyYaml(Object.fromEntries(given))}\n# Values\n${valuesText}`
}

function Fact({ label, value }: { label: string; value: string }) {
  return (
    <>
      <dt>{label}</dt>
      <dd>
        <Text>{value}</Text>
      </dd>
    </>
  )
}
