import type { ReactElement } from 'react'

import type { Service } from '~/api/queries/services'
import { clusterAddress, portTarget } from '~/lib/serviceAddress'
import { CopyButton } from '~/ui/CopyButton'
import { Text } from '~/ui/Text'

import styles from './ServicesPage.module.css'

/** The ports of a Service, each with its address inside the cluster to copy. */
export function ServicePorts({ service }: { service: Service }): ReactElement {
  if (service.ports.length === 0) return <span className={styles.muted}>no ports</span>
  return (
    <ul className={styles.ports}>
      {service.ports.map((port) => {
        const address = clusterAddress(service, port)
        return (
          <li key={`${port.protocol ?? ''}${port.port}`} className={styles.port}>
            <span>
              {port.name !== null && <Text>{port.name}</Text>} <span>{`${port.port}/${port.protocol ?? 'TCP'}`}</span>{' '}
              <span className={styles.muted}>{portTarget(port)}</span>
            </span>
            {address !== null && <CopyButton text={address} label={`Copy ${address}`} />}
          </li>
        )
      })}
    </ul>
  )
}
