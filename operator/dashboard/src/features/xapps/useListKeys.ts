import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import type { XApp } from '~/api/queries/xapps'
import { useKeyBindings } from '~/ui/useKeyBindings'

/** The keys of the list: `j` and `k` go to a row, `x` selects it, Enter opens it. Returns the uid of the row. */
export function useListKeys(rows: readonly XApp[], onSelect: (uid: string) => void): string | null {
  const navigate = useNavigate()
  const [current, setCurrent] = useState<string | null>(null)
  const indexOf = (wanted: string | null): number => rows.findIndex(({ uid }) => uid === wanted)
  // Tab and the pointer move the focus too.
  const latestIndex = (): number => {
    const focused = indexOf(focusedRow())
    return focused < 0 ? indexOf(current) : focused
  }
  const move = (step: 1 | -1): void => {
    const index = latestIndex()
    const row = rows[index < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, index + step))]
    if (row === undefined) return
    setCurrent(row.uid)
    // With the focus on its link a screen reader reads the row, and the other keys of a link work too.
    document.querySelector<HTMLElement>(`[data-row="${CSS.escape(row.uid)}"] a`)?.focus()
  }
  useKeyBindings([
    { keys: 'j', run: () => move(1) },
    { keys: 'k', run: () => move(-1) },
    {
      keys: 'x',
      run: () => {
        const row = rows[latestIndex()]
        if (row === undefined) return
        setCurrent(row.uid)
        onSelect(row.uid)
      },
    },
    {
      keys: 'Enter',
      run: () => {
        const row = rows[latestIndex()]
        if (row !== undefined)
          void navigate({
            to: '/xapps/$namespace/$name',
            params: { namespace: row.namespace, name: row.name },
          })
      },
    },
  ])
  return indexOf(current) < 0 ? null : current
}

/** The uid of the row that has the focus. */
function focusedRow(): string | null {
  return document.activeElement?.closest<HTMLElement>('[data-row]')?.dataset.row ?? null
}
