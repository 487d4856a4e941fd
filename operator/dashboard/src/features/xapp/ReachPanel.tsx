import type { ReactElement } from 'react'

import type { Schemas } from '~/api/client'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { useEnded } from '~/features/xapp/useEnded'
import { useConfiguration } from '~/features/xapp/useOverviewReading'
import { Button } from '~/ui/Button'
import { CopyButton } from '~/ui/CopyButton'
import { ExternalLink, safeHref } from '~/ui/Link'
import { Panel } from '~/ui/Panel'
import { MiddleText, Text } from '~/ui/Text'
import { refused } from '~/lib/rights'

import styles from './ReachPanel.module.css'

type Service = Schemas['ServiceWithAddresses']
type Address = Schemas['ServiceAddress']

/** The addresses of the xApp. */
export function ReachPanel(): ReactElement {
  const ended = useEnded()
  const { record } = useOpenXApp()
  const config = useConfiguration()
  return (
    <Panel title="Reach" query={config} ended={ended} skeletonLines={2}>
      {({ services }) =>
        services.length === 0 ? (
          <p className={styles.none}>
            {record.source === 'xapp' && record.release.revision === null
              ? 'Nothing is installed yet, so it has no address.'
              : 'It has no Service, so it has no address.'}
          </p>
        ) : (
          <ul className={styles.services}>
            {services.map((service) => (
              <ServiceItem key={service.name} service={service} />
            ))}
          </ul>
        )
      }
    </Panel>
  )
}

function ServiceItem({ service }: { service: Service }): ReactElement {
  return (
    <li className={styles.service}>
      <h3>
        <MiddleText>{service.name}</MiddleText>{' '}
        <span className={styles.none}>
          {service.type ?? ''} {service.ports.map(portText).join(', ')}
        </span>
      </h3>
      {service.addresses.length === 0 && <p className={styles.none}>It has no address.</p>}
      <ul className={styles.addresses}>
        {service.addresses.map((address, index) => (
          <AddressItem key={index} address={address} />
        ))}
      </ul>
    </li>
  )
}

function portText({ name, port, protocol }: Schemas['PortModel']): string {
  return `${name ?? ''} ${port}/${protocol ?? 'TCP'}`.trim()
}

const VIA: Readonly<Record<Address['via'], string>> = {
  nodePort: 'node port',
  loadBalancer: 'load balancer',
  ingress: 'ingress',
  clusterDNS: 'inside the cluster',
  proxy: 'through this gateway',
}

function AddressItem({ address }: { address: Address }): ReactElement {
  const { url, via, sameHost } = address
  const whole = via === 'proxy' ? new URL(url, location.origin).href : url
  return (
    <li className={styles.address}>
      <span className={styles.url}>
        <MiddleText>{whole}</MiddleText>
      </span>
      <span className={styles.none}>
        <Text>{VIA[via]}</Text>
      </span>
      <span className={styles.buttons}>
        <CopyButton text={whole} label={`Copy ${whole}`} />
        <OpenLink url={url} via={via} sameHost={sameHost} />
      </span>
    </li>
  )
}

const SAME_HOST =
  'It is on the host name of this page, so the browser would send it the cookies of this page. Copy it and open it in another browser profile.'

/** Opens an address that a browser can open by itself. */
function OpenLink({ url, via, sameHost }: Address): ReactElement | null {
  // Through the gateway each request carries the proof of the session, which a link cannot; cluster names are not known here.
  if (via === 'proxy' || via === 'clusterDNS' || safeHref(url) === null) return null
  if (sameHost) {
    return (
      <Button size="small" right={refused(SAME_HOST)}>
        Open
      </Button>
    )
  }
  return <ExternalLink href={url}>Open</ExternalLink>
}
