import { describe, expect, it } from 'vitest'

import { clusterAddress, portTarget } from '~/lib/serviceAddress'

const service = { name: 'e2t', namespace: 'ric', type: 'ClusterIP' }
const port = { port: 80, targetPort: 8080, nodePort: 30080 }

describe('addresses of Services', () => {
  it('names the Service, its namespace and the port', () => {
    expect(clusterAddress(service, port)).toBe('e2t.ric.svc:80')
  })

  it('has none for a name outside the cluster', () => {
    expect(clusterAddress({ ...service, type: 'ExternalName' }, port)).toBeNull()
  })

  it.each([
    [port, 'to 8080, node port 30080'],
    [{ ...port, targetPort: 'http', nodePort: null }, 'to http'],
    [{ port: 80, targetPort: 80, nodePort: null }, ''],
  ])('says where a port leads', (given, text) => {
    expect(portTarget(given)).toBe(text)
  })
})
