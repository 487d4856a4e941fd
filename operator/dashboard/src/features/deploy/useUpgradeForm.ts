import { useQuery } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useMemo, useState } from 'react'

import type { ChartDescription } from '~/api/queries/charts'
import { xappChartQuery } from '~/api/queries/charts'
import type { DeploymentParts, XAppSpecification } from '~/api/queries/deployments'
import {
  apiField,
  deploymentForm,
  fieldProblem,
  fieldsOfForm,
  formProblems,
  methodOfForm,
  NO_FIELDS,
  numericVersion,
  versionNote,
  withoutContradictions,
  type DeployFields,
  type FieldName,
  type FieldProblems,
  type Method,
} from '~/lib/deploy/form'
import { upgradeDraftKey } from '~/lib/xapp/typed'
import { useDiscard, type Discarding } from '~/ui/useDiscard'
import { useDraft, type Draft } from '~/ui/useDraft'

import type { Upload } from './deployDraft'
import { chosenVersion, useChosenChart } from './RepositoryChart'
import { takeHandedOver, withHandedOver } from './upgradeFromDeploy'

/** What is typed, and what it was typed on. */
export interface UpgradeDraft {
  typed: Partial<DeployFields>
  upload: Upload | null
  provenance: File | null
  /** Null: the values stay as they are. */
  valuesText: string | null
  baseValues: string
  baseFields: DeployFields
  uid: string
  generation: number
  /** The page /deploy had a chart that is found in another way than the one of this xApp. */
  isChartLeftOut?: boolean
}

/** Returns the draft of an upgrade in which nothing is typed yet. `values`: as they are stored. */
export function newUpgradeDraft({ form, uid, generation }: XAppSpecification, values: string): UpgradeDraft {
  return {
    typed: {},
    upload: null,
    provenance: null,
    valuesText: null,
    baseValues: values,
    baseFields: fieldsOfForm(form),
    uid,
    generation,
  }
}

function isUpgradeChanged({ typed, upload, provenance, valuesText, baseValues, baseFields }: UpgradeDraft): boolean {
  return (
    upload !== null ||
    provenance !== null ||
    (valuesText !== null && valuesText !== baseValues) ||
    Object.entries(typed).some(([name, value]) => value !== baseFields[name as FieldName])
  )
}

export interface UpgradeForm {
  draft: Draft<UpgradeDraft>
  method: Method
  stored: DeployFields
  fields: DeployFields
  /** Where the chart is stored that is there now; null: in a repository. */
  archive: XAppSpecification['archive']
  /** The chart that the upgrade would bring, or that is there now. */
  chart: ChartDescription | null
  /** Where the version comes from, unless that is plain. */
  versionNote: string | undefined
  problems: FieldProblems
  check: () => FieldProblems
  setField: (name: FieldName, value: string | boolean) => void
  blurField: (name: FieldName) => void
  setVersion: (version: string) => void
  /** Forgets what was typed, and what the address asks for. */
  discarding: Discarding
  valuesText: string
  isChanged: boolean
}

/** The parts of a PUT: an optional field that was emptied is removed, what was not touched stays. */
export function upgradeParts({
  draft,
  method,
  stored,
  fields,
}: Pick<UpgradeForm, 'method' | 'stored' | 'fields'> & { draft: UpgradeDraft }): DeploymentParts {
  const form = deploymentForm(fields, method)
  const before = deploymentForm(stored, method)
  // Another xApp may have replaced the one whose chart was a file.
  const upload = method === 'upload' ? draft.upload : null
  for (const name of Object.keys(before)) if (!(name in form)) form[name] = null
  return {
    form,
    file: upload?.file,
    provenance: upload === null ? undefined : (draft.provenance ?? undefined),
    values: draft.valuesText ?? undefined,
  }
}

interface Target {
  namespace: string
  name: string
  specification: XAppSpecification
  theirs: string
  search: UpgradeSearch
  setSearch: (search: UpgradeSearch) => void
}

interface UpgradeSearch {
  chart: string
  version: string
  adopt: boolean
}

export function useUpgradeForm({ namespace, name, specification, theirs, search, setSearch }: Target): UpgradeForm {
  const stored = useMemo(() => fieldsOfForm(specification.form), [specification.form])
  const method = methodOfForm(specification.form)
  const initial = useMemo(
    () => newUpgradeDraft(specification, theirs),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- another object that says the same is no other draft
    [theirs, stored, specification.uid, specification.generation],
  )
  const draftKey = upgradeDraftKey(namespace, name)
  const draft = useDraft(draftKey, initial, isUpgradeChanged)
  const { typed, upload } = draft.value
  const [checked, setChecked] = useState<ReadonlySet<FieldName>>(new Set())
  useAddressFirst(search, draft)
  useHandedOver(namespace, name, method, draft)

  const asked: Partial<DeployFields> = {
    ...(search.chart === '' ? {} : { chartName: search.chart }),
    ...(search.version === '' ? {} : { chartVersion: search.version }),
    ...(search.adopt ? { adopt: true } : {}),
  }
  const wantedChart = { ...stored, ...asked, ...typed }.chartVersion.trim()
  // With another chart comes its version. One that somebody typed stays.
  const ofChart = upload?.chart?.version ?? (wantedChart === stored.chartVersion ? '' : wantedChart)
  const wanted = { ...stored, ...asked, ...versionOf(ofChart), ...typed }
  const repository = method === 'repository' ? { namespace, name: wanted.repoName } : null
  const remote = useChosenChart(repository, wanted.chartName, chosenVersion(wanted))
  const current = useQuery(xappChartQuery(namespace, name))
  const coming = method === 'upload' ? (upload?.chart ?? null) : (remote.data ?? null)
  const fields: DeployFields = { ...NO_FIELDS, ...wanted }
  const problems = new Map(
    [...checked].flatMap((field): [string, string][] => {
      const problem = fieldProblem(fields, field, method)
      return problem === null ? [] : [[apiField(field), problem]]
    }),
  )
  const setTyped = (part: Partial<DeployFields>): void =>
    draft.set((before) => ({ ...before, typed: { ...before.typed, ...part } }))
  const isChanged =
    upload !== null || draft.value.valuesText !== null || JSON.stringify(fields) !== JSON.stringify(stored)
  const discarding = useDiscard({
    draftKey,
    isChanged,
    state: { draft: draft.value, search },
    discard: () => {
      draft.discard()
      if (search.chart !== '' || search.version !== '' || search.adopt)
        setSearch({ chart: '', version: '', adopt: false })
    },
    restore: (before) => {
      draft.set(before.draft)
      setSearch(before.search)
    },
  })
  return {
    draft,
    method,
    stored,
    fields,
    archive: specification.archive,
    versionNote: versionNote(fields.version, ofChart),
    chart: coming ?? current.data ?? null,
    problems,
    check: () => {
      setChecked(new Set(Object.keys(NO_FIELDS) as FieldName[]))
      return formProblems(fields, method)
    },
    setField: (field, value) => {
      setTyped({ [field]: value })
      if (field === 'chartName' && typeof value === 'string') setSearch({ ...search, chart: value })
      if (field === 'adopt') setSearch({ ...search, adopt: value === true })
    },
    blurField: (field) => setChecked((before) => new Set(before).add(field)),
    setVersion: (chartVersion) => {
      setTyped({ chartVersion })
      setSearch({ ...search, version: chartVersion })
    },
    discarding,
    valuesText: draft.value.valuesText ?? theirs,
    isChanged,
  }
}

/** What a link asks for comes before what was typed on an earlier visit. */
function useAddressFirst({ chart, version, adopt }: UpgradeSearch, draft: Draft<UpgradeDraft>): void {
  const begin = useEffectEvent(() => {
    const { typed } = draft.value
    const next = withoutContradictions(typed, { chart, version, namespace: '', releaseName: '', adopt })
    if (next !== typed) draft.set((current) => ({ ...current, typed: next }))
  })
  useEffect(() => begin(), [])
}

/** What was typed on the page /deploy for an xApp of this name comes before what was typed on an earlier visit. */
function useHandedOver(namespace: string, name: string, method: Method, draft: Draft<UpgradeDraft>): void {
  const begin = useEffectEvent(() => {
    const handed = takeHandedOver(namespace, name)
    if (handed !== null) draft.set((current) => withHandedOver(current, handed, method))
  })
  useEffect(() => begin(), [])
}

/** The version of the xApp that goes with one of the chart. */
function versionOf(chartVersion: string): Partial<DeployFields> {
  const version = numericVersion(chartVersion)
  return version === '' ? {} : { version }
}
