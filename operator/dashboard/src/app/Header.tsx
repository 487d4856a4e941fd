import { useNavigate } from '@tanstack/react-router'
import { useMutation, useQuery } from '@tanstack/react-query'
import { CircleUser, LogOut, Menu as MenuIcon, Monitor, Moon, Sun } from 'lucide-react'
import type { ReactElement } from 'react'

import { liveState } from '~/api/changes'
import { connection } from '~/api/connection'
import { sessionQuery, signOut } from '~/api/queries/session'
import { CROWDED } from '~/api/streamPlaces'
import { CommandPalette } from '~/app/CommandPalette'
import { useStore } from '~/lib/useStore'
import { visibleText } from '~/lib/visibleText'
import { classes } from '~/ui/classes'
import { ConfirmDialog } from '~/ui/Dialog'
import { Link } from '~/ui/Link'
import { MenuButton } from '~/ui/Menu'
import { useMediaQuery } from '~/ui/useMediaQuery'
import { usePreference } from '~/ui/usePreference'

import logo from './logo.svg'
import styles from './Header.module.css'

const API_DOCS = '/api/docs'

export function Header(): ReactElement {
  const isNarrow = useMediaQuery('(width < 64em)')
  return (
    <header className={styles.header}>
      <Link to="/xapps" className={styles.brand}>
        <img src={logo} alt="" width={28} height={28} />
        <span>xapp-operator</span>
      </Link>
      {isNarrow ? <NarrowNavigation /> : <Navigation />}
      <div className={styles.tools}>
        <CommandPalette />
        <Live />
        <ThemeMenu />
        <UserMenu />
      </div>
    </header>
  )
}

function Navigation(): ReactElement {
  return (
    <nav aria-label="Main" className={styles.navigation}>
      <Link to="/xapps">xApps Management</Link>
      <Link to="/deploy">Deploy</Link>
      <Link to="/repositories">Repositories</Link>
      <Link to="/services">Services</Link>
      <a href={API_DOCS}>API</a>
    </nav>
  )
}

function NarrowNavigation(): ReactElement {
  const navigate = useNavigate()
  return (
    <nav aria-label="Main" className={styles.narrow}>
      <MenuButton
        label="Pages"
        showsIconOnly
        icon={<MenuIcon size={20} aria-hidden />}
        items={[
          { id: 'xapps', label: 'xApps Management', onAction: () => void navigate({ to: '/xapps' }) },
          { id: 'deploy', label: 'Deploy', onAction: () => void navigate({ to: '/deploy' }) },
          { id: 'repositories', label: 'Repositories', onAction: () => void navigate({ to: '/repositories' }) },
          { id: 'services', label: 'Services', onAction: () => void navigate({ to: '/services' }) },
          { id: 'api', label: 'API', onAction: () => window.location.assign(API_DOCS) },
        ]}
      />
    </nav>
  )
}

/** Whether changes in the cluster show by themselves now. */
function Live(): ReactElement | null {
  const isOnline = useStore(connection, ({ state }) => state === 'online')
  const live = useStore(liveState)
  if (live === 'off') return null
  const isLive = isOnline && live === 'live'
  const isCrowded = isOnline && live === 'crowded'
  const word = isLive ? 'Live' : isCrowded ? CROWDED : 'Not live'
  const title = isLive ? 'Changes show by themselves' : 'Changes do not show by themselves now'
  return (
    <span
      className={classes(styles.live, isLive && styles.isLive, isCrowded && styles.isCrowded)}
      title={isCrowded ? CROWDED : title}
    >
      <span className={styles.dot} aria-hidden />
      <span className={styles.liveWord}>{word}</span>
    </span>
  )
}

const THEMES = [
  { id: 'system', label: 'As the system', icon: Monitor },
  { id: 'light', label: 'Light', icon: Sun },
  { id: 'dark', label: 'Dark', icon: Moon },
] as const

function ThemeMenu(): ReactElement {
  const [theme, setTheme] = usePreference('theme')
  const Icon = THEMES.find(({ id }) => id === theme)?.icon ?? Monitor
  return (
    <MenuButton
      label="Theme"
      showsIconOnly
      icon={<Icon size={18} aria-hidden />}
      items={THEMES.map(({ id, label, icon: ItemIcon }) => ({
        id,
        label,
        icon: <ItemIcon size={16} aria-hidden />,
        isSelected: id === theme,
        onAction: () => setTheme(id),
      }))}
    />
  )
}

function UserMenu(): ReactElement {
  const { data: session } = useQuery(sessionQuery)
  const navigate = useNavigate()
  // Once the proof is gone, every tab goes to the sign-in page.
  const leaving = useMutation({ mutationFn: signOut })
  const about = { id: 'about', label: 'About, keys, looks', onAction: () => void navigate({ to: '/about' }) }
  const isSignedIn = session?.auth === 'kubernetes'
  return (
    <>
      <MenuButton
        label={isSignedIn ? shortName(session.user ?? 'Signed in') : session === undefined ? 'User' : 'No sign-in'}
        variant="quiet"
        icon={<CircleUser size={18} aria-hidden />}
        items={
          isSignedIn
            ? [
                about,
                'separator',
                {
                  id: 'sign-out',
                  label: 'Sign out',
                  description: session.user ?? undefined,
                  icon: <LogOut size={16} aria-hidden />,
                  onAction: () => leaving.mutate(),
                },
              ]
            : [about]
        }
      />
      <ConfirmDialog
        title="You are still signed in"
        isOpen={leaving.isError}
        onClose={leaving.reset}
        keepLabel="Stay"
        confirmLabel="Sign out"
        onConfirm={() => leaving.mutate()}
        error={leaving.error}
      >
        <p>Signing out failed.</p>
      </ConfirmDialog>
    </>
  )
}

const SERVICE_ACCOUNT = /^system:serviceaccount:[^:]+:(.+)$/

/** The name of a user; a service account without its namespace, which the menu shows. */
function shortName(user: string): string {
  return visibleText(SERVICE_ACCOUNT.exec(user)?.[1] ?? user)
}
