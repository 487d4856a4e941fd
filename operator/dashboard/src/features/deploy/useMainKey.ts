import { useEffect, useEffectEvent } from 'react'

import { preferences } from '~/lib/preferences'
import { useKeyBindings } from '~/ui/useKeyBindings'

/**
 * Ctrl+Enter runs the main button of a page, wherever the focus is.
 *
 * Widgets keep keys to themselves, so the page listens before them. Dialogs and menus have main buttons of their own.
 */
export function useMainKey(run: () => void): void {
  useKeyBindings([{ keys: 'Ctrl+Enter', inFields: true, run }])
  const pressed = useEffectEvent(run)
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || preferences.get().keys === 'off') return
      if (document.querySelector('[role="dialog"], [role="alertdialog"], [role="menu"]') !== null) return
      event.preventDefault()
      event.stopPropagation()
      // A key that is held down is one press: the preview that comes meanwhile is to be looked at.
      if (!event.repeat) pressed()
    }
    document.addEventListener('keydown', onKeyDown, { capture: true })
    return () => document.removeEventListener('keydown', onKeyDown, { capture: true })
  }, [])
}
