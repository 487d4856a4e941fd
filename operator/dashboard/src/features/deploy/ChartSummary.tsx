import { useState, type ReactNode } from 'react'

import type { ChartDescription } from '~/api/queries/charts'
import { TextView } from '~/editor/lazy'
import { Button } from '~/ui/Button'
import { CopyButton } from '~/ui/CopyButton'
import { Dialog } from '~/ui/Dialog'
import { Notice } from '~/ui/Notice'
import { Text } from '~/ui/Text'

import styles from './deploy.module.css'
import { sizeText } from './sizeText'

interface ChartSummaryProps {
  chart: ChartDescription
  actions?: ReactNode
}

type Shown = 'README' | 'Values' | 'Schema'

const DIGEST_SHOWN = 19

/** What a chart says about itself. All of it is text of others, and shown as text. */
export function ChartSummary({ chart, actions }: ChartSummaryProps) {
  const [shown, setShown] = useState<Shown | null>(null)
  const texts: Record<Shown, string | null> = {
    README: chart.readme,
    Values: chart.valuesText,
    Schema: chart.schema === null ? null : JSON.stringify(chart.schema, null, 2),
  }
  const size = chart.size === null ? '' : `, ${sizeText(chart.size)}`
  const app = chart.appVersion === null ? '' : `, app ${chart.appVersion}`
  const open = shown === null ? null : texts[shown]
  return (
    <div className={styles.chart}>
      <div className={styles.row}>
        <strong className={styles.title}>
          <Text lines={1}>{`${chart.name} ${chart.version}`}</Text>
        </strong>
        <Text lines={1} className={styles.muted}>
          {`${app}${size}`.replace(/^, /, '')}
        </Text>
        {(Object.keys(texts) as Shown[]).map((name) =>
          texts[name] === null || texts[name] === '' ? (
            <span key={name} className={styles.muted}>{`no ${name === 'README' ? name : name.toLowerCase()}`}</span>
          ) : (
            <Button key={name} size="small" variant="quiet" onPress={() => setShown(name)}>
              {name}
            </Button>
          ),
        )}
        {chart.digest !== null && (
          <span className={styles.row}>
            <code title={chart.digest}>{`${chart.digest.slice(0, DIGEST_SHOWN)}…`}</code>
            <CopyButton text={chart.digest} label="Copy the digest" />
          </span>
        )}
        <span className={styles.end}>{actions}</span>
      </div>
      {chart.description !== null && chart.description !== '' && (
        <p>
          <Text lines={2}>{chart.description}</Text>
        </p>
      )}
      {chart.warnings.map((warning, index) => (
        <Notice key={index} tone="warn">
          <Text multiline>{warning}</Text>
        </Notice>
      ))}
      <Dialog
        title={`${shown ?? ''} of ${chart.name}`}
        isOpen={open !== null}
        onClose={() => setShown(null)}
        width="large"
      >
        {open !== null && (
          <TextView
            label={`${shown ?? ''} of the chart`}
            text={open}
            language={shown === 'Schema' ? 'json' : shown === 'Values' ? 'yaml' : 'text'}
          />
        )}
      </Dialog>
    </div>
  )
}
