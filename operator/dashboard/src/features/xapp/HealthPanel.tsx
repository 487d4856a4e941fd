import { useState, type ReactElement } from 'react'

import type { Schemas } from '~/api/client'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { RepeatedMessage, RepeatedText } from '~/features/xapp/RepeatedMessage'
import { useHealth } from '~/features/xapp/useHealth'
import { useEnded } from '~/features/xapp/useEnded'
import { buildHealthTree, startsOpen, type ContainerNode, type PodNode, type ResourceNode } from '~/lib/xapp/healthTree'
import { Button } from '~/ui/Button'
import { Copyable } from '~/ui/Copyable'
import { ButtonLink } from '~/ui/Link'
import { Panel } from '~/ui/Panel'
import { StatusBadge } from '~/ui/StatusBadge'
import { MiddleText, Text } from '~/ui/Text'

import styles from './HealthPanel.module.css'

/** Objects shown before a person asks for all: a chart can have thousands. */
const OBJECTS_SHOWN = 50

/** The objects of the xApp, their pods and containers. */
export function HealthPanel(): ReactElement {
  const ended = useEnded()
  const health = useHealth()
  return (
    <Panel title="Health" query={health} ended={ended} skeletonLines={5}>
      {(report) => <Tree report={report} />}
    </Panel>
  )
}

function Tree({ report }: { report: Schemas['HealthReport'] }): ReactElement {
  const { id, record, goneAt } = useOpenXApp()
  const [showsAll, setShowsAll] = useState(false)
  const nodes = buildHealthTree(report)
  const shown = showsAll ? nodes : firstNodes(nodes)
  return (
    <>
      {goneAt === null ? (
        <div className={styles.overall}>
          <StatusBadge status={report.status} />
          {report.message !== null && <RepeatedMessage>{report.message}</RepeatedMessage>}
        </div>
      ) : (
        <p className={styles.none}>Its objects as they were last seen.</p>
      )}
      {nodes.length === 0 && (
        <p className={styles.none}>
          {record.phase === 'Uninstalling' ? 'Its objects are gone.' : 'It has no objects yet.'}
        </p>
      )}
      <ul className={styles.tree}>
        {shown.map((node) => (
          <ResourceItem key={node.key} node={node} total={nodes.length} />
        ))}
      </ul>
      {shown.length < nodes.length && (
        <Button size="small" onPress={() => setShowsAll(true)}>
          {`Show all ${nodes.length} objects`}
        </Button>
      )}
      {report.podsTotal === null && <p className={styles.none}>Pods: Not visible: needs list pods in {id.namespace}</p>}
      {report.podsTotal !== null && report.podsTotal > report.pods.length && (
        <p className={styles.none}>
          {report.pods.length} of {report.podsTotal} pods
        </p>
      )}
    </>
  )
}

/** What is wrong first, so that it is never cut off; otherwise the order of the answer. */
function firstNodes(nodes: readonly ResourceNode[]): readonly ResourceNode[] {
  if (nodes.length <= OBJECTS_SHOWN) return nodes
  const wrong = nodes.filter(({ status }) => status !== 'Healthy')
  return [...wrong, ...nodes.filter(({ status }) => status === 'Healthy')].slice(0, OBJECTS_SHOWN)
}

function ResourceItem({ node, total }: { node: ResourceNode; total: number }): ReactElement {
  const title = (
    <>
      <span className={styles.kind}>
        <Text>{node.kind}</Text>
      </span>
      <MiddleText>{node.name}</MiddleText>
      <StatusBadge status={node.status} isPlain />
      {node.pods.length > 0 && (
        <span className={styles.kind}>{node.pods.length === 1 ? '1 pod' : `${node.pods.length} pods`}</span>
      )}
      {node.message !== null && node.message !== '' && (
        <span className={styles.message}>
          {/* What opens and closes the pods is a button itself, and can have none inside. */}
          {node.pods.length > 0 ? (
            <RepeatedText>{node.message}</RepeatedText>
          ) : (
            <RepeatedMessage>{node.message}</RepeatedMessage>
          )}
        </span>
      )}
    </>
  )
  if (node.pods.length === 0) return <li className={styles.leaf}>{title}</li>
  return (
    <li>
      <details open={startsOpen(node, total)}>
        <summary className={styles.summary}>
          <span className={styles.title}>{title}</span>
        </summary>
        <ul className={styles.branch}>
          {node.pods.map((pod) => (
            <PodItem key={pod.key} node={pod} />
          ))}
        </ul>
      </details>
    </li>
  )
}

function PodItem({ node }: { node: PodNode }): ReactElement {
  const { pod, status, containers } = node
  return (
    <li>
      <div className={styles.item}>
        <span className={styles.kind}>Pod</span>
        <Copyable isInLine text={pod.name} label={`Copy the name of pod ${pod.name}`}>
          <MiddleText>{pod.name}</MiddleText>
        </Copyable>
        <StatusBadge status={status} isPlain />
        {pod.node !== null && (
          <span className={styles.kind}>
            node <Text>{pod.node}</Text>
          </span>
        )}
      </div>
      <ul className={styles.branch}>
        {containers.map((container) => (
          <ContainerItem key={container.key} pod={pod.name} node={container} />
        ))}
      </ul>
    </li>
  )
}

function ContainerItem({ pod, node }: { pod: string; node: ContainerNode }): ReactElement {
  const { id } = useOpenXApp()
  const { container, status, summary } = node
  return (
    <li className={styles.item}>
      <span className={styles.kind}>{container.init ? 'init container' : 'container'}</span>
      <Copyable isInLine text={container.name} label={`Copy the name of container ${container.name} of pod ${pod}`}>
        <MiddleText>{container.name}</MiddleText>
      </Copyable>
      <StatusBadge status={status} isPlain />
      <Text>{summary}</Text>
      <ButtonLink
        to="/xapps/$namespace/$name/logs"
        params={id}
        search={{ pod, container: container.name }}
        size="small"
        variant="quiet"
        aria-label={`Log of container ${container.name} of pod ${pod}`}
      >
        Log
      </ButtonLink>
      {container.image !== null && (
        <span className={styles.message}>
          <Copyable text={container.image} label={`Copy the image of container ${container.name} of pod ${pod}`}>
            <MiddleText>{container.image}</MiddleText>
          </Copyable>
        </span>
      )}
    </li>
  )
}
