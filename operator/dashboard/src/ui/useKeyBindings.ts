import { useEffect, useMemo, useRef } from 'react'

import { registerKeys, type KeyBinding } from '~/lib/keyBindings'

/** Registers keys while the component is shown. The list of keys must not change; what they run may. */
export function useKeyBindings(bindings: readonly KeyBinding[]): void {
  const latest = useRef(bindings)
  useEffect(() => {
    latest.current = bindings
  })
  const signature = useMemo(() => bindings.map((binding) => binding.keys).join('\n'), [bindings])
  useEffect(
    () =>
      registerKeys(latest.current.map((binding, index) => ({ ...binding, run: () => latest.current[index]?.run() }))),
    [signature],
  )
}
