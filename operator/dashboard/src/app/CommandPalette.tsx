import { useNavigate } from '@tanstack/react-router'
import { Search } from 'lucide-react'
import { useState, type ReactElement } from 'react'

import { Button } from '~/ui/Button'
import { lazyDialog } from '~/ui/lazyPart'
import { useKeyBindings } from '~/ui/useKeyBindings'

import styles from './Header.module.css'

const PaletteDialog = lazyDialog('Search or jump', async () => (await import('~/app/PaletteDialog')).PaletteDialog)
const KeyMapDialog = lazyDialog('Keys', async () => (await import('~/app/KeyMapDialog')).KeyMapDialog)

/** The field "Search or jump" of the header, and the keys that work on every page. The dialogs are loaded when opened. */
export function CommandPalette(): ReactElement {
  const navigate = useNavigate()
  const [open, setOpen] = useState<'none' | 'palette' | 'keys'>('none')
  const close = (): void => setOpen('none')
  useKeyBindings([
    { keys: 'Ctrl+k', inFields: true, run: () => setOpen('palette') },
    { keys: '?', run: () => setOpen('keys') },
    { keys: 'g x', run: () => void navigate({ to: '/xapps' }) },
    { keys: 'g d', run: () => void navigate({ to: '/deploy' }) },
    { keys: 'g r', run: () => void navigate({ to: '/repositories' }) },
    { keys: 'g s', run: () => void navigate({ to: '/services' }) },
    { keys: '/', run: focusSearch },
  ])
  return (
    <>
      <Button
        icon={<Search size={16} aria-hidden />}
        tooltip="Search or jump (Ctrl+K)"
        label="Search or jump, Ctrl+K"
        onPress={() => setOpen('palette')}
      >
        <span className={styles.jump}>
          Search or jump <kbd>Ctrl+K</kbd>
        </span>
      </Button>
      {open === 'palette' && <PaletteDialog onClose={close} />}
      {open === 'keys' && <KeyMapDialog onClose={close} />}
    </>
  )
}

function focusSearch(): void {
  const field = document.querySelector<HTMLElement>('#main [data-search]')
  field?.focus()
  // What is typed then is another search.
  if (field instanceof HTMLInputElement) field.select()
}
