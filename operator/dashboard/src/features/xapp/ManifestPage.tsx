import { getRouteApi } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useEffect, useMemo, useState, type ReactElement } from 'react'

import { manifestQuery, xappPath } from '~/api/queries/xappDetails'
import { TextView } from '~/editor/lazy'
import { hasNoRevision, NoRevision } from '~/features/xapp/NoRevision'
import { NotVisible } from '~/features/xapp/NotVisible'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { useEnded } from '~/features/xapp/useEnded'
import { WithoutHelm } from '~/features/xapp/WithoutHelm'
import { curlCommand, kubectl } from '~/lib/commands'
import { manifestObjects } from '~/lib/xapp/manifestObjects'
import { isWithoutHelm } from '~/lib/xapp/withoutHelm'
import { Button } from '~/ui/Button'
import { classes } from '~/ui/classes'
import { CopyAs } from '~/ui/CopyAs'
import { CopyButton } from '~/ui/CopyButton'
import { EmptyState } from '~/ui/EmptyState'
import { Link } from '~/ui/Link'
import { Notice } from '~/ui/Notice'
import { Panel } from '~/ui/Panel'
import { saveText } from '~/ui/saveText'
import { MiddleText, Text } from '~/ui/Text'

import styles from './ManifestPage.module.css'

const route = getRouteApi('/xapps/$namespace/$name/manifest')

/** The objects of the revision in force, as Helm keeps them, secrets masked. */
export function ManifestPage(): ReactElement {
  const { id, record, goneAt, see } = useOpenXApp()
  const ended = useEnded()
  const right = see('release')
  const query = useQuery({
    ...manifestQuery(id, record.release.revision),
    enabled: goneAt === null && right.allowed && !isWithoutHelm(record) && !hasNoRevision(record),
  })
  if (isWithoutHelm(record)) return <WithoutHelm what="manifest" />
  if (!right.allowed) return <NotVisible right={right} />
  if (hasNoRevision(record)) return <NoRevision />
  return (
    <Panel
      title="Manifest"
      query={query}
      ended={ended}
      skeletonLines={10}
      actions={<CopyAs size="small" {...commandsFor(id, record.release.name)} />}
    >
      {({ manifest }) => <Objects manifest={manifest} />}
    </Panel>
  )
}

function Objects({ manifest }: { manifest: string }): ReactElement {
  const { id } = useOpenXApp()
  const { object } = route.useSearch()
  const objects = useMemo(() => manifestObjects(manifest), [manifest])
  const known = objects.find((each) => each.id === object)
  const missing = useMissing(object, known === undefined)
  const chosen = known ?? objects[0]
  if (chosen === undefined) return <EmptyState title="The release has no objects" />
  return (
    <div className={styles.panes}>
      {missing !== '' && (
        <div className={styles.note}>
          <Notice isLive>
            Not in the manifest: <Text>{missing}</Text>. This is its first object.
          </Notice>
        </div>
      )}
      <nav aria-label="Objects of the manifest" className={styles.list}>
        {objects.map((each) => (
          <Link
            key={each.id}
            to="/xapps/$namespace/$name/manifest"
            params={id}
            search={{ object: each.id }}
            replace
            className={classes(styles.item, each.id === chosen.id && styles.chosen)}
            aria-current={each.id === chosen.id ? 'true' : undefined}
          >
            <span className={styles.kind}>
              <Text>{each.kind}</Text>
            </span>
            <MiddleText>{each.name}</MiddleText>
          </Link>
        ))}
      </nav>
      <div className={styles.text}>
        <div className={styles.tools}>
          <CopyButton text={chosen.text} label={`Copy ${chosen.id}`}>
            Copy
          </CopyButton>
          <CopyButton text={manifest} label="Copy all objects">
            Copy all
          </CopyButton>
          <Button
            size="small"
            icon={<Download size={16} aria-hidden />}
            onPress={() => saveText(`${id.name}.yaml`, manifest)}
          >
            Save all
          </Button>
        </div>
        <TextView label={`Manifest of ${chosen.id}`} text={chosen.text} language="yaml" />
      </div>
    </div>
  )
}

/** Drops an object that the manifest does not have from the address, and returns it until another one is chosen. */
function useMissing(object: string, isUnknown: boolean): string {
  const navigate = route.useNavigate()
  const [missing, setMissing] = useState('')
  const isDropped = isUnknown && object !== ''
  if (isDropped && missing !== object) setMissing(object)
  if (!isUnknown && missing !== '') setMissing('')
  useEffect(() => {
    if (isDropped) void navigate({ search: {}, replace: true })
  }, [isDropped, navigate])
  return missing
}

function commandsFor(id: { namespace: string; name: string }, release: string | null) {
  return {
    curl: curlCommand({ method: 'GET', path: xappPath(id, 'manifest') }),
    kubectl: kubectl(['get', 'secret', '-n', id.namespace, '-l', `owner=helm,name=${release ?? id.name}`]),
  }
}
