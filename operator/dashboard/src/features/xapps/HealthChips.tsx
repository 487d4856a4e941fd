import { useQuery } from '@tanstack/react-query'
import { memo, useEffect, useRef, type ReactElement } from 'react'

import { facetsQuery, type Facet, type Facets } from '~/api/queries/facets'
import { HEALTHS, type XAppsFilters } from '~/lib/routeSearch'
import { filtersOf } from '~/lib/xapps/listQuery'
import { Button } from '~/ui/Button'
import { StatusIcon } from '~/ui/StatusBadge'

import styles from './XAppsPage.module.css'

interface HealthChipsProps {
  search: XAppsFilters
  /** Whether they are to be counted. */
  isReady: boolean
  onChange: (part: Partial<XAppsFilters>) => void
}

const COUNTED: readonly Facet[] = ['health', 'attention']

/** "All 10,000", "Needs attention 12", and each health with its count: buttons that filter the list. */
export const HealthChips = memo(function HealthChips({ search, isReady, onChange }: HealthChipsProps): ReactElement {
  const counted = facetsQuery(COUNTED, filtersOf(search, ['health', 'attention']))
  const { data = {} } = useQuery({ ...counted, enabled: isReady })
  const isAll = !search.attention && search.health.length === 0
  const row = useRef<HTMLDivElement>(null)
  const chosen = isAll ? 'all' : search.attention ? 'attention' : search.health.join()
  const isCounted = data.attention !== undefined
  useEffect(() => {
    // The counts make the chips wider. Where not all have room, the row scrolls.
    if (isCounted) showChosen(row.current)
  }, [chosen, isCounted])
  return (
    <div ref={row} className={styles.chips} role="group" aria-label="Health">
      <Chip label="All" count={total(data)} isOn={isAll} onPress={() => onChange({ attention: false, health: [] })} />
      <Chip
        label="Needs attention"
        icon="Degraded"
        count={countOf(data, 'attention', 'true')}
        isOn={search.attention}
        onPress={() => onChange({ attention: !search.attention, health: [] })}
      />
      {HEALTHS.map((health) => {
        const isOn = search.health.includes(health)
        return (
          <Chip
            key={health}
            label={health}
            icon={health}
            count={countOf(data, 'health', health)}
            isOn={isOn}
            onPress={() => onChange({ attention: false, health: isOn ? [] : [health] })}
          />
        )
      })}
    </div>
  )
})

/** Scrolls the row, and nothing around it, until the chip that is on is in view. */
function showChosen(row: HTMLElement | null): void {
  const chip = row?.querySelector('[aria-pressed=true]')
  if (!row || !chip) return
  const [outer, inner] = [row.getBoundingClientRect(), chip.getBoundingClientRect()]
  if (inner.left < outer.left || inner.right > outer.right)
    row.scrollLeft += inner.left + inner.width / 2 - (outer.left + outer.width / 2)
}

interface ChipProps {
  label: string
  icon?: string
  count: number | null
  isOn: boolean
  onPress: () => void
}

function Chip({ label, icon, count, isOn, onPress }: ChipProps): ReactElement {
  return (
    <Button
      size="small"
      aria-pressed={isOn}
      className={styles.chip}
      onPress={onPress}
      icon={icon === undefined ? undefined : <StatusIcon status={icon} />}
    >
      {label} <span className={styles.count}>{count?.toLocaleString('en-US') ?? ''}</span>
    </Button>
  )
}

function countOf(facets: Facets, facet: Facet, value: string): number | null {
  const values = facets[facet]
  return values === undefined ? null : (values.find((found) => found.value === value)?.count ?? 0)
}

function total({ attention }: Facets): number | null {
  return attention === undefined ? null : attention.reduce((sum, { count }) => sum + count, 0)
}
