import { useEffect } from 'react'

import { createKeyMatcher, keyBindings, keyName } from '~/lib/keyBindings'
import { preferences } from '~/lib/preferences'

/** Listens to the keys of all registered bindings. Off inside fields and dialogs, and where the reader turned them off. */
export function useGlobalKeys(): void {
  useEffect(() => {
    const match = createKeyMatcher()
    const onKeyDown = (event: KeyboardEvent): void => {
      const key = keyName(event)
      if (key === null || event.defaultPrevented || event.isComposing) return
      if (preferences.get().keys === 'off' || (key === 'Enter' && isActivatedByEnter(event.target))) return
      const isInField = isField(event.target) || document.querySelector('[aria-modal="true"], [role="menu"]') !== null
      const binding = match({ key, isInField, at: event.timeStamp }, keyBindings.get())
      if (binding === null) return
      event.preventDefault()
      binding.run()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
}

function isActivatedByEnter(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('a, button, summary, [role="button"]') !== null
}

function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target.isContentEditable || target.closest('[role="listbox"], [role="menu"]') !== null) return true
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button', 'submit'].includes(target.type)
  return ['TEXTAREA', 'SELECT'].includes(target.tagName)
}
