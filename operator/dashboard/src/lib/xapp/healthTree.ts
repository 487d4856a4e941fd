/** The objects of an xApp as a tree: workloads, their pods, the containers of these. */

import { isFaulty } from '~/lib/xapp/cause'
import type { Container, Health, HealthReport, Pod } from '~/lib/xapp/types'

export interface ContainerNode {
  key: string
  container: Container
  status: Health
  /** For example "waiting, CrashLoopBackOff, exit 42, 7 restarts". */
  summary: string
}

export interface PodNode {
  key: string
  pod: Pod
  status: Health
  containers: readonly ContainerNode[]
}

export interface ResourceNode {
  key: string
  kind: string
  name: string
  /** Null for objects of the cluster, and for workloads known only as owners of pods. */
  namespace: string | null
  status: Health
  message: string | null
  pods: readonly PodNode[]
}

const SEVERITY: readonly Health[] = ['Degraded', 'Unknown', 'Progressing', 'Healthy']

/** Returns the objects in the order of the API, pods below their owner. Pods of no known object come last. */
export function buildHealthTree(report: Pick<HealthReport, 'resources' | 'pods'>): ResourceNode[] {
  const podsByOwner = new Map<string, PodNode[]>()
  const podsByName = new Map<string, PodNode>()
  for (const pod of report.pods) {
    const node = podNode(pod)
    podsByName.set(pod.name, node)
    if (pod.owner === null) continue
    const owner = objectKey(pod.owner)
    podsByOwner.set(owner, [...(podsByOwner.get(owner) ?? []), node])
  }
  const placed = new Set<string>()
  const place = (pods: readonly PodNode[]): readonly PodNode[] => {
    for (const { key } of pods) placed.add(key)
    return pods
  }
  const listed = report.resources.map((resource): ResourceNode => {
    const own = resource.kind === 'Pod' ? podsByName.get(resource.name) : undefined
    const pods = own === undefined ? (podsByOwner.get(objectKey(resource)) ?? []) : [own]
    const free = pods.filter(({ key }) => !placed.has(key))
    return { ...resource, key: `${resource.namespace ?? ''}/${objectKey(resource)}`, pods: place(free) }
  })
  return [...listed, ...ownersOf([...podsByName.values()].filter(({ key }) => !placed.has(key)))]
}

/** Pods whose owner is not among the objects of the answer. */
function ownersOf(pods: readonly PodNode[]): ResourceNode[] {
  const owners = new Map<string, { kind: string; name: string; pods: PodNode[] }>()
  for (const node of pods) {
    const owner = node.pod.owner ?? { kind: 'Pod', name: node.pod.name }
    const known = owners.get(objectKey(owner))
    if (known === undefined) owners.set(objectKey(owner), { ...owner, pods: [node] })
    else known.pods.push(node)
  }
  return [...owners.values()].map(({ kind, name, pods: own }) => ({
    key: `?/${objectKey({ kind, name })}`,
    kind,
    name,
    namespace: null,
    status: worst(own.map(({ status }) => status)),
    message: null,
    pods: own,
  }))
}

function objectKey({ kind, name }: { kind: string; name: string }): string {
  return `${kind}/${name}`
}

function podNode(pod: Pod): PodNode {
  const containers = pod.containers.map((container) => ({
    key: container.name,
    container,
    status: containerHealth(container),
    summary: containerSummary(container),
  }))
  return { key: pod.name, pod, status: podHealth(pod, containers), containers }
}

function podHealth(pod: Pod, containers: readonly ContainerNode[]): Health {
  if (pod.phase === 'Failed') return 'Degraded'
  if (pod.phase === 'Succeeded') return 'Healthy'
  const ofContainers = worst(containers.map(({ status }) => status))
  if (ofContainers === 'Degraded') return 'Degraded'
  if (pod.phase === 'Unknown') return 'Unknown'
  return pod.ready ? 'Healthy' : 'Progressing'
}

function containerHealth(container: Container): Health {
  if (isFaulty(container)) return 'Degraded'
  if (container.ready) return 'Healthy'
  return container.state === 'terminated' ? 'Healthy' : 'Progressing'
}

function worst(all: readonly Health[]): Health {
  return SEVERITY.find((status) => all.includes(status)) ?? 'Healthy'
}

function containerSummary({ state, reason, exitCode, restarts, ready }: Container): string {
  const parts = [
    state === 'running' && !ready ? 'running, not ready' : state,
    ...(reason === null || reason === '' ? [] : [reason]),
    ...(exitCode === null ? [] : [`exit ${exitCode}`]),
    ...(restarts === 0 ? [] : [restarts === 1 ? '1 restart' : `${restarts} restarts`]),
  ]
  return parts.join(', ')
}

/** Returns whether a node starts open: something in it is wrong, or there is little to see. */
export function startsOpen(node: ResourceNode, total: number): boolean {
  return node.status !== 'Healthy' || (total <= 12 && node.pods.length <= 3)
}
