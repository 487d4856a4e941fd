import type { ReactElement } from 'react'

import { keyBindings } from '~/lib/keyBindings'
import { KEY_MAP, OTHER_KEYS } from '~/lib/keyMap'
import { useStore } from '~/lib/useStore'
import { classes } from '~/ui/classes'
import { Dialog } from '~/ui/Dialog'
import { Link } from '~/ui/Link'

import styles from './palette.module.css'

/** All keys. Those that do nothing on the open page are muted, and say so. */
export function KeyMapDialog({ onClose }: { onClose: () => void }): ReactElement {
  const bindings = useStore(keyBindings)
  const working = new Set<string>(bindings.map(({ keys }) => keys))
  return (
    <Dialog title="Keys" isOpen onClose={onClose} width="medium">
      {Object.entries(KEY_MAP).map(([group, { where, keys }]) => (
        <section key={group}>
          <h3>
            {group} <span className={styles.more}>{where}</span>
          </h3>
          <dl className={styles.keys}>
            {Object.entries(keys).map(([key, label]) => (
              <Key key={key} keys={key} label={label} isOff={!working.has(key)} />
            ))}
            {group === 'Page' &&
              Object.entries(OTHER_KEYS).map(([key, label]) => (
                <Key key={key} keys={key} label={label} isOff={false} />
              ))}
          </dl>
        </section>
      ))}
      <p>
        Muted keys do nothing on this page. Keys are off inside fields.{' '}
        {/* In a narrow window the keys scroll: something in them must take the focus. */}
        <Link to="/about" onClick={onClose}>
          About
        </Link>{' '}
        turns them off.
      </p>
    </Dialog>
  )
}

function Key({ keys, label, isOff }: { keys: string; label: string; isOff: boolean }): ReactElement {
  return (
    <div className={classes(styles.key, isOff && styles.off)}>
      <dt>
        <kbd>{keys.replace('Ctrl+k', 'Ctrl+K')}</kbd>
      </dt>
      <dd>
        {label}
        {isOff && <span className={styles.unseen}>, not on this page</span>}
      </dd>
    </div>
  )
}
