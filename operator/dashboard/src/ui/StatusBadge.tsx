import {
  CircleCheck,
  CircleHelp,
  CircleMinus,
  CirclePause,
  CircleX,
  LoaderCircle,
  Trash2,
  TriangleAlert,
  type LucideIcon,
} from 'lucide-react'
import { memo, type ReactElement } from 'react'

import { classes } from '~/ui/classes'
import { Text } from '~/ui/Text'

import styles from './StatusBadge.module.css'

export type Tone = 'ok' | 'run' | 'warn' | 'bad' | 'none' | 'hold'

interface Look {
  tone: Tone
  icon: LucideIcon
}

const RUNNING: Look = { tone: 'run', icon: LoaderCircle }
const OK: Look = { tone: 'ok', icon: CircleCheck }
const BAD: Look = { tone: 'bad', icon: CircleX }
const UNKNOWN: Look = { tone: 'none', icon: CircleHelp }

/** The words of phases, health, drift, revisions, pods, events and tests. */
const LOOKS: Readonly<Record<string, Look>> = {
  Healthy: OK,
  Deployed: OK,
  Ready: OK,
  Running: RUNNING,
  Succeeded: OK,
  deployed: OK,
  Progressing: RUNNING,
  Deploying: RUNNING,
  Pending: RUNNING,
  'pending-install': RUNNING,
  'pending-upgrade': RUNNING,
  'pending-rollback': RUNNING,
  Degraded: { tone: 'warn', icon: TriangleAlert },
  Warning: { tone: 'warn', icon: TriangleAlert },
  Drifted: { tone: 'warn', icon: TriangleAlert },
  Failed: BAD,
  failed: BAD,
  Unknown: UNKNOWN,
  Suspended: { tone: 'hold', icon: CirclePause },
  Uninstalling: { tone: 'none', icon: Trash2 },
  Uninstalled: { tone: 'none', icon: Trash2 },
  uninstalling: { tone: 'none', icon: Trash2 },
  yes: OK,
  no: { tone: 'none', icon: CircleMinus },
  superseded: { tone: 'none', icon: CircleMinus },
  'never healthy': { tone: 'warn', icon: TriangleAlert },
  'not healthy yet': RUNNING,
}

interface StatusBadgeProps {
  /** A word of Kubernetes or Helm. An unknown word is shown with a question mark. */
  status: string
  tone?: Tone
  /** Without the coloured ground, for rows of a table. */
  isPlain?: boolean
}

/** The icon of a status, in its colour, beside a text that names it. */
export function StatusIcon({ status }: { status: string }): ReactElement {
  const { icon: Icon, tone } = (Object.hasOwn(LOOKS, status) ? LOOKS[status] : undefined) ?? UNKNOWN
  return <Icon size={16} aria-hidden className={classes(styles[tone], styles.plain)} />
}

/** A status: icon, word and colour. */
export const StatusBadge = memo(function StatusBadge({
  status,
  tone,
  isPlain = false,
}: StatusBadgeProps): ReactElement {
  const look = Object.hasOwn(LOOKS, status) ? LOOKS[status] : undefined
  const { icon: Icon, tone: own } = look ?? UNKNOWN
  return (
    <span className={classes(styles.badge, styles[tone ?? own], isPlain && styles.plain)}>
      <Icon size={16} aria-hidden />
      <Text>{capitalized(status)}</Text>
    </span>
  )
})

/** Words of Helm begin with a small letter, those of Kubernetes with a capital one. */
function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
