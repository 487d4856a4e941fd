import { useIsFetching, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useEffectEvent, useMemo, useState } from 'react'

import { ARCHIVES, storedChartQuery, type ChartDescription, type StoredChart } from '~/api/queries/charts'
import type { Repository } from '~/api/queries/repositories'
import { sessionQuery } from '~/api/queries/session'
import { xappsQuery, type XApp } from '~/api/queries/xapps'
import {
  apiField,
  fieldProblem,
  formProblems,
  identityOf,
  NO_FIELDS,
  numericVersion,
  ownerOf,
  versionNote,
  withoutContradictions,
  type DeployFields,
  type FieldName,
  type FieldProblems,
  type Method,
} from '~/lib/deploy/form'
import { discardDraft, drafts, setDraft } from '~/lib/drafts'
import type { DeploySearch } from '~/lib/routeSearch'
import { isWithoutHelm } from '~/lib/xapp/withoutHelm'
import { usePreference } from '~/ui/usePreference'
import { useDiscard, type Discarding } from '~/ui/useDiscard'
import { useDraft, type Draft } from '~/ui/useDraft'

import {
  draftOfDeleted,
  isFilledIn,
  NO_DRAFT,
  typedFor,
  withAsked,
  withStoredChart,
  type DeployDraft,
} from './deployDraft'
import { NEW_REPOSITORY } from './newRepository'
import { chosenVersion, useChosenChart } from './RepositoryChart'
import { useRepositoryOf, useSavedRepository } from './useSavedRepository'

const route = getRouteApi('/deploy')

export interface DeployForm {
  draft: Draft<DeployDraft>
  /** What is sent: the draft, with the chart file that an uninstalled xApp had. */
  filled: DeployDraft
  /** Clears the form for good: it was sent. */
  forget: () => void
  /** Keeps the form for when the reader comes back; another page has all of it, so it may be lost. */
  keepUntilBack: () => void
  /** Clears the form. */
  clearing: Discarding
  method: Method
  fields: DeployFields
  /** The chart, once the gateway has read it. */
  chart: ChartDescription | null
  /** The gateway reads the chart now, which fills in fields. */
  isReadingChart: boolean
  /** What is adopted has no release yet. */
  adoptsWithoutHelm: boolean
  /** Where the version comes from, unless that is plain. */
  versionNote: string | undefined
  problems: FieldProblems
  /** Shows what is wrong with all fields, and returns it. */
  check: () => FieldProblems
  setMethod: (method: Method) => void
  setField: (name: FieldName, value: string | boolean) => void
  blurField: (name: FieldName) => void
  setRepository: (id: string, found: Repository | null) => void
  setVersion: (version: string) => void
}

/** The state of the page /deploy: what is typed, what the chart and the session fill in, and what is wrong. */
export function useDeployForm(): DeployForm {
  const address: DeploySearch = route.useSearch()
  const navigate = route.useNavigate()
  const deleted = useMemo(
    () => draftOfDeleted(address.draft === '' ? null : drafts.get().get(`deploy:${address.draft}`)),
    [address.draft],
  )
  const again = useRepositoryOf(deleted?.typed)
  const initial = useMemo((): DeployDraft => {
    if (deleted === null) return { ...NO_DRAFT, repository: address.repository }
    return again === null ? deleted : { ...deleted, repository: again, typed: withoutAddress(deleted.typed, again) }
  }, [deleted, again, address.repository])
  const draftKey = address.draft === '' ? 'deploy' : `deploy-again:${address.draft}`
  const kept = useDraft(draftKey, initial, isFilledIn)
  const search = withAsked(address, kept.value.asked)
  const draft = typedOn(kept, search)
  const clearing = useDiscard({
    draftKey,
    isChanged: draft.isDirty,
    state: draft.value,
    discard: draft.discard,
    restore: draft.set,
  })
  const { method } = search
  const [checked, setChecked] = useState<ReadonlySet<FieldName>>(new Set())
  useAddressFirst(address, draft)
  useFullAddress(address, kept, (full) => void navigate({ search: full, replace: true }))

  const repository = useSavedRepository(draft.value.repository, method === 'repository')
  const adopted = useAdopted(search)
  const prefilled = { ...usePrefilled(search), ...(adopted === undefined ? {} : identityOf(adopted)) }
  const beforeChart = { ...NO_FIELDS, ...prefilled, ...draft.value.typed }
  const remote = useChosenChart(repository, beforeChart.chartName, chosenVersion(beforeChart))
  const isReadingFile = useIsFetching({ queryKey: ARCHIVES }) > 0
  const stored = useStoredChart(draft.value, method)
  const filled = useMemo(() => withStoredChart(draft.value, stored.data), [draft.value, stored.data])
  const chart = method === 'upload' ? (filled.upload?.chart ?? null) : (remote.data ?? null)
  const fields: DeployFields = {
    ...NO_FIELDS,
    ...prefilled,
    ...ofRepository(repository),
    ...ofChart(chart, beforeChart.chartVersion),
    ...draft.value.typed,
  }
  const problems = new Map(
    [...checked].flatMap((name): [string, string][] => {
      const problem = fieldProblem(fields, name, method)
      return problem === null ? [] : [[apiField(name), problem]]
    }),
  )

  const setTyped = (part: Partial<DeployFields>): void =>
    draft.set((current) => ({ ...current, typed: { ...current.typed, ...part } }))
  const setSearch = (part: Partial<DeploySearch>): void => {
    if (drafts.get().has(draftKey)) {
      kept.set((current) => typedFor(current, { ...search, ...current.asked, ...part }))
    }
    void navigate({ search: { ...search, ...part }, replace: true })
  }
  const setField = (name: FieldName, value: string | boolean): void => {
    setTyped({ [name]: value })
    if (name === 'chartName' && typeof value === 'string') setSearch({ chart: value })
    if (name === 'adopt') setSearch({ adopt: value === true })
  }
  return {
    draft,
    filled,
    forget: () => {
      draft.discard()
      if (search.draft !== '') discardDraft(`deploy:${search.draft}`)
    },
    keepUntilBack: () => {
      if (draft.isDirty) setDraft(draftKey, draft.value, false)
    },
    clearing,
    method,
    fields,
    chart,
    adoptsWithoutHelm:
      adopted !== undefined &&
      isWithoutHelm(adopted) &&
      adopted.name === fields.releaseName.trim() &&
      adopted.namespace === fields.namespace.trim(),
    versionNote: versionNote(fields.version, chart?.version ?? fields.chartVersion),
    isReadingChart: method === 'upload' ? isReadingFile || stored.isFetching : remote.isLoading,
    problems,
    check: () => {
      setChecked(new Set(Object.keys(NO_FIELDS) as FieldName[]))
      return formProblems(fields, method)
    },
    setMethod: (next) => setSearch({ method: next }),
    setField,
    blurField: (name) => {
      setChecked((current) => new Set(current).add(name))
      if ((name === 'namespace' || name === 'releaseName') && draft.value.typed[name] !== undefined) {
        setSearch({ [name]: fields[name].trim() })
      }
    },
    setRepository: (id, found) => {
      draft.set((current) => ({ ...current, repository: id, typed: withoutAddress(current.typed, id) }))
      const namespace = found !== null && fields.namespace === '' ? found.namespace : null
      if (namespace !== null) setTyped({ namespace })
      setSearch({ repository: id === NEW_REPOSITORY ? '' : id, ...(namespace === null ? {} : { namespace }) })
    },
    setVersion: (chartVersion) => {
      setTyped({ chartVersion })
      setSearch({ version: chartVersion })
    },
  }
}

/** The draft, which remembers what the page was asked for when something was typed first. */
function typedOn(draft: Draft<DeployDraft>, search: DeploySearch): Draft<DeployDraft> {
  return {
    ...draft,
    set: (next) =>
      draft.set((current) => {
        const changed = typeof next === 'function' ? next(current) : next
        return Object.keys(changed.asked).length > 0 ? changed : typedFor(changed, search)
      }),
  }
}

const NO_STORED_CHART: StoredChart = { namespace: '', name: '', digest: null }

/** The chart file of the uninstalled xApp that the form deploys again, until another one is chosen. */
export function useStoredChart({ storedChart, upload }: DeployDraft, method: Method) {
  const isWanted = method === 'upload' && storedChart !== null && upload === null
  return useQuery({ ...storedChartQuery(storedChart ?? NO_STORED_CHART), enabled: isWanted })
}

/**
 * What the address of the page asks for comes before what was typed on an earlier visit: a link that deploys a chart or
 * adopts a release must not end in another namespace. What is typed on the page is written to the address.
 */
function useAddressFirst(search: DeploySearch, draft: Draft<DeployDraft>): void {
  const begin = useEffectEvent(() => {
    if (!draft.isDirty) return
    const { typed, repository } = draft.value
    const next = withoutContradictions(typed, search)
    if (search.repository !== '' && search.repository !== repository) {
      draft.set((current) => ({ ...current, repository: search.repository, typed: withoutAddress(next, '') }))
    } else if (next !== typed) draft.set((current) => ({ ...current, typed: next }))
  })
  useEffect(() => begin(), [])
}

/** Whoever comes back by a bare address finds the draft as they left it: the address says again what it was typed for. */
function useFullAddress(
  address: DeploySearch,
  draft: Draft<DeployDraft>,
  setAddress: (search: DeploySearch) => void,
): void {
  const complete = useEffectEvent(() => {
    if (!draft.isDirty) return
    const full = withAsked(address, draft.value.asked)
    draft.set((current) => typedFor(current, full))
    if (JSON.stringify(full) !== JSON.stringify(address)) setAddress(full)
  })
  useEffect(() => complete(), [address])
}

/** The address of a saved repository comes from that repository, never from what was typed before. */
function withoutAddress(typed: Partial<DeployFields>, id: string): Partial<DeployFields> {
  if (id === NEW_REPOSITORY) return typed
  return Object.fromEntries(Object.entries(typed).filter(([name]) => name !== 'repoName' && name !== 'url'))
}

function usePrefilled(search: DeploySearch): Partial<DeployFields> {
  const { data: session } = useQuery(sessionQuery)
  const [organization] = usePreference('organization')
  const [team] = usePreference('team')
  const [namespace] = usePreference('namespace')
  return {
    organization,
    team,
    namespace: search.namespace === '' ? namespace : search.namespace,
    owner: session?.user ? ownerOf(session.user) : '',
    chartName: search.chart,
    chartVersion: search.version,
    releaseName: search.releaseName,
    adopt: search.adopt,
  }
}

/** What is adopted, as its labels tell it: it keeps its identity. */
function useAdopted({ adopt, namespace, releaseName }: DeploySearch): XApp | undefined {
  const isKnown = adopt && namespace !== '' && releaseName !== ''
  // A release may have no record: a list without it is no error.
  const { data } = useQuery({
    ...xappsQuery({ namespace: [namespace], search: releaseName, source: ['labels'], per_page: 100 }),
    enabled: isKnown,
  })
  return isKnown ? data?.content.find(({ name }) => name === releaseName) : undefined
}

function ofRepository(repository: Repository | null): Partial<DeployFields> {
  return repository === null ? {} : { repoName: repository.name, url: repository.url }
}

function ofChart(chart: ChartDescription | null, chartVersion: string): Partial<DeployFields> {
  const version = numericVersion(chart?.version ?? chartVersion)
  return { ...(chart === null ? {} : { xAppName: chart.name }), ...(version === '' ? {} : { version }) }
}
