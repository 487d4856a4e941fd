import { useLocation, useNavigate } from '@tanstack/react-router'
import type { ReactElement } from 'react'

import type { XAppId } from '~/api/queries/xappDetails'
import type { MappedKeys } from '~/lib/keyMap'
import { Link } from '~/ui/Link'
import { TabLinks } from '~/ui/TabLinks'
import { useKeyBindings } from '~/ui/useKeyBindings'

const TABS = [
  { to: '/xapps/$namespace/$name', label: 'Overview' },
  { to: '/xapps/$namespace/$name/logs', label: 'Logs' },
  { to: '/xapps/$namespace/$name/events', label: 'Events' },
  { to: '/xapps/$namespace/$name/values', label: 'Values' },
  { to: '/xapps/$namespace/$name/history', label: 'History' },
  { to: '/xapps/$namespace/$name/manifest', label: 'Manifest' },
  { to: '/xapps/$namespace/$name/notes', label: 'Notes' },
  { to: '/xapps/$namespace/$name/own-api', label: 'Own API' },
] as const

/** The pages of one xApp; the keys 1 to 8 open them. */
export function XAppTabs({ id }: { id: XAppId }): ReactElement {
  const navigate = useNavigate()
  const { pathname } = useLocation()
  useKeyBindings([
    ...TABS.map(({ to }, index) => ({
      keys: `${index + 1}` as MappedKeys,
      run: () => void navigate({ to, params: id }),
    })),
    {
      keys: 'e',
      run: () => void navigate({ to: '/xapps/$namespace/$name/values', params: id }),
    },
    {
      keys: 'u',
      run: () => void navigate({ to: '/xapps/$namespace/$name/upgrade', params: id }),
    },
    {
      keys: 'l',
      run: () => void navigate({ to: '/xapps/$namespace/$name/logs', params: id }),
    },
  ])
  return (
    <TabLinks label="Pages of this xApp" current={pathname}>
      {TABS.map(({ to, label }) => (
        <Link key={to} to={to} params={id} activeOptions={{ exact: true, includeSearch: false }}>
          {label}
        </Link>
      ))}
    </TabLinks>
  )
}
