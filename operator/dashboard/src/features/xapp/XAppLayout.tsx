import { getRouteApi, Outlet, useNavigate } from '@tanstack/react-router'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'

import { useChanges } from '~/api/changes'
import { uninstallXApp, xappQuery } from '~/api/queries/xapps'
import { usePermissions } from '~/api/usePermissions'
import { toast } from '~/lib/toasts'
import { Button } from '~/ui/Button'
import { ConfirmDialog } from '~/ui/Dialog'
import { Link } from '~/ui/Link'
import { Page } from '~/ui/Page'
import { StatusBadge } from '~/ui/StatusBadge'
import { TabLinks } from '~/ui/TabLinks'
import { MiddleText, Text } from '~/ui/Text'

const route = getRouteApi('/xapps/$namespace/$name')

/** What the pages of one xApp share: its head and the tabs. */
export function XAppLayout(): ReactElement {
  const { namespace, name } = route.useParams()
  const client = useQueryClient()
  const { data: xapp } = useQuery(xappQuery(namespace, name))
  const readAgain = (): void => void client.invalidateQueries({ queryKey: ['xapps', 'one', { namespace, name }] })
  useChanges({ query: { namespace, name }, onChange: readAgain, onReset: readAgain })
  return (
    <Page
      title={name}
      heading={
        <>
          <MiddleText>{name}</MiddleText>
          {xapp !== undefined && <StatusBadge status={xapp.health} />}
        </>
      }
      breadcrumbs={
        <>
          <Link to="/xapps">xApps Management</Link>
          <span>/</span>
          <Text>{namespace}</Text>
        </>
      }
      actions={<Uninstall namespace={namespace} name={name} uid={xapp?.uid} />}
    >
      <TabLinks label="Pages of this xApp">
        <Link to="/xapps/$namespace/$name" params={{ namespace, name }} activeOptions={{ exact: true }}>
          Overview
        </Link>
        <Link to="/xapps/$namespace/$name/logs" params={{ namespace, name }}>
          Logs
        </Link>
      </TabLinks>
      <Outlet />
    </Page>
  )
}

function Uninstall({ namespace, name, uid }: { namespace: string; name: string; uid?: string }): ReactElement {
  const [isAsking, setAsking] = useState(false)
  const { right } = usePermissions(namespace, name)
  const navigate = useNavigate()
  const uninstall = useMutation({
    mutationFn: () => uninstallXApp(namespace, name, uid),
    onSuccess: () => {
      setAsking(false)
      toast(`Uninstalling ${name}`)
      void navigate({ to: '/xapps' })
    },
  })
  return (
    <>
      <Button right={right('uninstall')} onPress={() => setAsking(true)}>
        Uninstall...
      </Button>
      <ConfirmDialog
        title={`Uninstall ${name}?`}
        isOpen={isAsking}
        onClose={() => {
          setAsking(false)
          uninstall.reset()
        }}
        confirmLabel={`Uninstall ${name}`}
        isDanger
        onConfirm={() => uninstall.mutate()}
        isPending={uninstall.isPending}
        error={uninstall.error}
      >
        <p>
          This removes its Helm release from <Text>{namespace}</Text>.
        </p>
      </ConfirmDialog>
    </>
  )
}
