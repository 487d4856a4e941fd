/** Where a port of a Service is reached inside the cluster, and what it leads to. */

interface ServiceIdentity {
  name: string
  namespace: string
  type: string | null
}

interface ServicePort {
  port: number
  targetPort: string | number | null
  nodePort: number | null
}

/** Returns `name.namespace.svc:port`, or null for a name that leads out of the cluster. */
export function clusterAddress({ name, namespace, type }: ServiceIdentity, { port }: ServicePort): string | null {
  return type === 'ExternalName' ? null : `${name}.${namespace}.svc:${port}`
}

/** Returns the target port where it differs, and the port of the nodes, as a short text. */
export function portTarget({ port, targetPort, nodePort }: ServicePort): string {
  const parts = [
    targetPort === null || String(targetPort) === String(port) ? '' : `to ${targetPort}`,
    nodePort === null ? '' : `node port ${nodePort}`,
  ]
  return parts.filter((part) => part !== '').join(', ')
}
