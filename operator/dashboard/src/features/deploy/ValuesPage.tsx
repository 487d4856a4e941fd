import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'

import { xappChartQuery } from '~/api/queries/charts'
import { xappQuery } from '~/api/queries/xapps'
import { configQuery, type XAppConfiguration } from '~/api/queries/values'
import { goneXApps } from '~/lib/goneXApps'
import { useStore } from '~/lib/useStore'
import { ADOPTION_WITHOUT_HELM, isWithoutHelm } from '~/lib/xapp/withoutHelm'
import { EmptyState } from '~/ui/EmptyState'
import { usePageTitle } from '~/ui/Page'
import { Panel } from '~/ui/Panel'

import { AdoptFirst } from './AdoptFirst'
import { factsOf } from './chartFacts'
import styles from './deploy.module.css'
import { unseenOfDescription } from './unseenOfChart'
import { ValuesEditor } from './ValuesEditor'
import { ValuesForEditing } from './ValuesForEditing'

const route = getRouteApi('/xapps/$namespace/$name/values')

const NOTHING = () => undefined

/** The values of one xApp: what its user gives, what the chart gives, and what helm makes of both. */
export function ValuesPage() {
  const { namespace, name } = route.useParams()
  usePageTitle(`Values of ${name}`)
  const isGone = useStore(goneXApps).has(`${namespace}/${name}`)
  const config = useQuery({ ...configQuery(namespace, name), enabled: !isGone })
  const ended = isGone ? <EmptyState title="This was not read before the xApp was uninstalled" /> : undefined
  return (
    <Panel title="Values" query={config} ended={ended}>
      {(data) =>
        data.uid === null || data.generation === null ? (
          <ExternalValues config={data} namespace={namespace} name={name} />
        ) : (
          <ValuesForEditing
            key={`${namespace}/${name}`}
            config={data}
            uid={data.uid}
            generation={data.generation}
            refetch={() => void config.refetch()}
          />
        )
      }
    </Panel>
  )
}

/** An xApp that is known by its labels only can be looked at, and adopted. */
function ExternalValues({ config, namespace, name }: { config: XAppConfiguration; namespace: string; name: string }) {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const record = useQuery(xappQuery(namespace, name))
  const chart = useQuery(xappChartQuery(namespace, name))
  const yours = config.layers.find(({ from }) => from === 'yours')?.text ?? null
  const releaseName = record.data?.release.name ?? name
  const withoutHelm = record.data !== undefined && isWithoutHelm(record.data)
  return (
    <div className={styles.stack}>
      <AdoptFirst namespace={namespace} releaseName={releaseName}>
        {withoutHelm
          ? `This xApp was installed without Helm, so it has no values. Adopt it to give it some. ${ADOPTION_WITHOUT_HELM}`
          : 'This xApp was installed by other means, so its values cannot be changed here. Adopt it first.'}
      </AdoptFirst>
      {withoutHelm ? null : yours === null ? (
        <p className={styles.muted}>It has no Helm release, or it is not visible: needs get secrets.</p>
      ) : (
        <ValuesEditor
          text={yours}
          onChange={NOTHING}
          view={search.view}
          onView={(view) => void navigate({ search: { view }, replace: true })}
          chart={factsOf(chart.data)}
          unseen={unseenOfDescription(chart)}
          layersBelow={config.layers.filter(({ from }) => from !== 'yours')}
          refusal={null}
          valuesBytesMax={0}
          isReadOnly
        />
      )}
    </div>
  )
}
