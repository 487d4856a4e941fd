import { useQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'

import { ownConfigQuery, ownSchemaQuery } from '~/api/queries/ownApi'
import { configQuery } from '~/api/queries/values'
import { NotVisible } from '~/features/xapp/NotVisible'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { OwnConfigEditor } from '~/features/xapp/OwnConfigEditor'
import { useEnded } from '~/features/xapp/useEnded'
import { formatJson, shownJson } from '~/lib/formatJson'
import { Code } from '~/ui/Code'
import { CopyButton } from '~/ui/CopyButton'
import { EmptyState } from '~/ui/EmptyState'
import { Card, Panel, QueryContent } from '~/ui/Panel'
import { MiddleText } from '~/ui/Text'

import styles from './OwnApiPage.module.css'

/** The run-time configuration of the xApp, which its own API serves and takes. */
export function OwnApiPage(): ReactElement {
  const { id, goneAt, see } = useOpenXApp()
  const ended = useEnded()
  const right = see('proxy')
  const config = useQuery({ ...configQuery(id.namespace, id.name), enabled: goneAt === null && right.allowed })
  if (!right.allowed) return <NotVisible right={right} />
  return (
    <QueryContent query={config} ended={ended} skeletonLines={6}>
      {({ ownApi, metadata }) =>
        ownApi.base === null ? (
          <Card title="Its API">
            <EmptyState title="It has no API that the gateway finds">
              Its Service needs a port with the name http, rest or api, or one port only.
            </EmptyState>
          </Card>
        ) : (
          <div className={styles.page}>
            {ownApi.config === false ? (
              <Card title="Run-time configuration">
                <EmptyState title="It has no run-time configuration">
                  Its API answers nothing at /config, so there is nothing to change while it runs. Change its values
                  instead.
                </EmptyState>
              </Card>
            ) : (
              <OwnConfig base={ownApi.base} hasSchema={ownApi.schema !== false} />
            )}
            <Metadata metadata={metadata} base={ownApi.base} />
          </div>
        )
      }
    </QueryContent>
  )
}

function OwnConfig({ base, hasSchema }: { base: string; hasSchema: boolean }): ReactElement {
  const { id, goneAt } = useOpenXApp()
  const ended = useEnded()
  const current = useQuery({ ...ownConfigQuery(id, base), enabled: goneAt === null })
  const schema = useQuery({ ...ownSchemaQuery(id, base), enabled: goneAt === null && hasSchema, retry: false })
  return (
    <Panel title="Run-time configuration" query={current} ended={ended} skeletonLines={8}>
      {(text) => <OwnConfigEditor base={base} current={formatJson(text)} schemaText={schema.data ?? null} />}
    </Panel>
  )
}

function Metadata({ metadata, base }: { metadata: Record<string, unknown> | null; base: string }): ReactElement {
  return (
    <Card title="Its API">
      <p className={styles.address}>
        <MiddleText>{location.origin + base}</MiddleText>
        <CopyButton text={location.origin + base} label="Copy the address" />
      </p>
      {metadata === null ? (
        <p className={styles.remark}>It answers nothing at /metadata.</p>
      ) : (
        <Code label="the metadata">{shownJson(metadata)}</Code>
      )}
    </Card>
  )
}
