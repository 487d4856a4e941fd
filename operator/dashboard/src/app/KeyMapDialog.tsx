import type { ReactElement } from 'react'

import { keyBindings } from '~/lib/keyBindings'
import { useStore } from '~/lib/useStore'
import { Dialog } from '~/ui/Dialog'

import styles from './palette.module.css'

const GROUPS = ['Go', 'Page', 'List', 'xApp'] as const

/** The keys that work on the open page. */
export function KeyMapDialog({ onClose }: { onClose: () => void }): ReactElement {
  const bindings = useStore(keyBindings)
  return (
    <Dialog title="Keys" isOpen onClose={onClose} width="medium">
      {GROUPS.map((group) => {
        const found = bindings.filter((binding) => binding.group === group)
        if (found.length === 0) return null
        return (
          <section key={group}>
            <h3>{group}</h3>
            <dl className={styles.keys}>
              {found.map(({ keys, label }, index) => (
                <div key={index} className={styles.key}>
                  <dt>
                    <kbd>{keys.replace('Ctrl+k', 'Ctrl+K')}</kbd>
                  </dt>
                  <dd>{label}</dd>
                </div>
              ))}
            </dl>
          </section>
        )
      })}
      <p>Keys are off inside fields. The page About turns them off.</p>
    </Dialog>
  )
}
