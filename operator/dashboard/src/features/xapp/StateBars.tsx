import { useNavigate } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'

import type { StoredChart } from '~/api/queries/charts'
import { configQuery } from '~/api/queries/values'
import { specQuery } from '~/api/queries/xappDetails'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { useAct } from '~/features/xapp/useAct'
import { methodOfForm } from '~/lib/deploy/form'
import { setDraft } from '~/lib/drafts'
import { isSaidOnce } from '~/lib/problem'
import { ALLOWED, refused } from '~/lib/rights'
import { clockText } from '~/lib/time'
import { typedOf } from '~/lib/xapp/typed'
import { ADOPTION_WITHOUT_HELM, isWithoutHelm } from '~/lib/xapp/withoutHelm'
import { Button } from '~/ui/Button'
import { ButtonLink } from '~/ui/Link'
import { Bar, Notice } from '~/ui/Notice'
import { ErrorText } from '~/ui/ProblemPanel'
import type { QueryLike } from '~/ui/Panel'
import { Waiting } from '~/ui/Waiting'

/** What is special about this xApp now: uninstalled meanwhile, suspended, known by its labels only, not readable. */
export function StateBars({ query }: { query: QueryLike<unknown> }): ReactElement {
  const { record, goneAt, change } = useOpenXApp()
  const act = useAct()
  if (goneAt !== null) return <GoneBar goneAt={goneAt} />
  return (
    <>
      {query.error !== null && query.error !== undefined && !isSaidOnce(query.error) && (
        <ErrorText error={query.error} />
      )}
      {record.source === 'labels' && (
        <Notice title="Installed by other means">
          {isWithoutHelm(record)
            ? `It is known by its labels, and has no Helm release. Adopt it to change, upgrade and uninstall it here. ${ADOPTION_WITHOUT_HELM}`
            : 'It is known by its labels. Adopt it to change, upgrade and uninstall it here.'}
        </Notice>
      )}
      {record.phase === 'Suspended' && (
        <Notice
          title="Suspended"
          actions={
            <>
              <Waiting what="Waiting for the gateway" isRunning={act.isPending} />
              <Button size="small" right={change('act')} isPending={act.isPending} onPress={() => act.mutate('resume')}>
                Resume
              </Button>
            </>
          }
        >
          The operator leaves it as it is until it is resumed.
        </Notice>
      )}
    </>
  )
}

/** Its chart file; null if it was no upload, or is not stored as a ChartArchive. */
function storedChart(namespace: string, archive: Readonly<Record<string, unknown>> | null): StoredChart | null {
  const { chartArchiveRef, digest } = archive ?? {}
  const name = (chartArchiveRef as { name?: unknown } | undefined)?.name
  if (typeof name !== 'string') return null
  return { namespace, name, digest: typeof digest === 'string' ? digest : null }
}

function GoneBar({ goneAt }: { goneAt: Date }): ReactElement {
  const { id, record } = useOpenXApp()
  const navigate = useNavigate()
  const spec = useQuery({ ...specQuery(id), enabled: false }).data
  const config = useQuery({ ...configQuery(id.namespace, id.name), enabled: false }).data
  const valuesText = config?.layers.find(({ from }) => from === 'yours')?.text ?? null
  const deployAgain = (): void => {
    if (spec === undefined) return
    // What was typed on its pages comes before what it had.
    const typed = typedOf(id.namespace, id.name)
    setDraft(`deploy:${record.uid}`, {
      form: spec.form,
      storedChart: storedChart(id.namespace, spec.archive),
      valuesText: typed.valuesText ?? valuesText ?? '',
      upgrade: typed.upgrade,
    })
    const search = { method: methodOfForm(spec.form), namespace: id.namespace, draft: record.uid }
    void navigate({ to: '/deploy', search, ignoreBlocker: true })
  }
  return (
    <Bar
      tone="warn"
      actions={
        <>
          {record.source === 'xapp' && (
            <Button
              size="small"
              right={
                spec === undefined || valuesText === null ? refused('Its values were not read before it went') : ALLOWED
              }
              onPress={deployAgain}
            >
              Deploy again with these values
            </Button>
          )}
          <ButtonLink to="/xapps" size="small">
            All xApps
          </ButtonLink>
        </>
      }
    >
      Uninstalled at {clockText(goneAt)}. This is its last state.
    </Bar>
  )
}
