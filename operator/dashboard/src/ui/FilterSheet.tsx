import { SlidersHorizontal } from 'lucide-react'
import { useState, type ReactElement, type ReactNode } from 'react'

import { Button } from '~/ui/Button'
import { Dialog } from '~/ui/Dialog'
import { useMediaQuery } from '~/ui/useMediaQuery'

import styles from './FilterSheet.module.css'

interface FilterSheetProps {
  /** The filters. */
  children: ReactNode
  /** How many filters are set. */
  active: number
  onClear: () => void
}

/** Filters in a row; in a narrow window a button opens them as a dialog. */
export function FilterSheet({ children, active, onClear }: FilterSheetProps): ReactElement {
  const isNarrow = useMediaQuery('(width < 45em)')
  const [isOpen, setOpen] = useState(false)
  if (!isNarrow) return <div className={styles.row}>{children}</div>
  return (
    <>
      <Button icon={<SlidersHorizontal size={16} aria-hidden />} onPress={() => setOpen(true)}>
        {active === 0 ? 'Filters' : `Filters, ${active} set`}
      </Button>
      <Dialog
        title="Filters"
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        footer={
          <>
            {active > 0 && <Button onPress={onClear}>Clear filters</Button>}
            <Button variant="primary" onPress={() => setOpen(false)}>
              Done
            </Button>
          </>
        }
      >
        <div className={styles.column}>{children}</div>
      </Dialog>
    </>
  )
}
