import { useQuery } from '@tanstack/react-query'
import { Replace } from 'lucide-react'
import { useEffect, useEffectEvent } from 'react'

import { archiveQuery, type ChartDescription } from '~/api/queries/charts'
import { RENDER_SECONDS } from '~/api/useFetchLimit'
import { describeError, fieldErrors } from '~/lib/problem'
import { Button } from '~/ui/Button'
import { fieldId } from '~/ui/FieldFrame'
import { FileButton } from '~/ui/FileButton'
import { FileDrop } from '~/ui/FileDrop'
import { useDelayed } from '~/ui/useDelayed'
import { useKeptFocus } from '~/ui/useKeptFocus'

import { ChartSummary } from './ChartSummary'
import type { Upload } from './deployDraft'
import styles from './deploy.module.css'
import { UploadWaiting } from './UploadWaiting'

interface UploadChartProps {
  upload: Upload | null
  /** What the gateway said about the file when it was sent. */
  error: string | null
  bytesMax: number
  onChange: (upload: Upload | null) => void
  onChart: (file: File, chart: ChartDescription) => void
}

const NO_FILE = new File([], '')
/** From then on, UploadWaiting says more. */
const LATE_MILLISECONDS = 2000

/** A packed chart, which the gateway reads as soon as it is dropped. */
export function UploadChart({ upload, error, bytesMax, onChange, onChart }: UploadChartProps) {
  const box = { ...useKeptFocus<HTMLDivElement>(), id: fieldId('file'), role: 'group', 'aria-label': 'Chart file' }
  const unread = upload?.chart === null && upload.file.size <= bytesMax ? upload.file : null
  const description = useQuery({ ...archiveQuery(unread ?? NO_FILE), enabled: unread !== null })
  const { data, refetch } = description
  const isLate = useDelayed(description.isFetching, LATE_MILLISECONDS)
  const tell = useEffectEvent(onChart)
  useEffect(() => {
    if (unread !== null && data !== undefined) tell(unread, data)
  }, [unread, data])
  const choose = (file: File): void => onChange({ file, chart: null })
  const tooLarge = upload !== null && upload.file.size > bytesMax
  const message = tooLarge ? tooLargeText(upload.file, bytesMax) : (error ?? refusalOf(description.error))
  if (upload?.chart) {
    return (
      <div {...box} className={styles.stack}>
        <ChartSummary
          chart={upload.chart}
          actions={
            <FileButton
              accept=".tgz,.tar.gz"
              label="Another chart"
              size="small"
              icon={<Replace size={16} aria-hidden />}
              onFile={choose}
            >
              Replace
            </FileButton>
          }
        />
        {error !== null && (
          <p className={styles.bad} role="alert">
            {error}
          </p>
        )}
      </div>
    )
  }
  return (
    <div {...box} className={styles.stack}>
      <FileDrop
        label={upload === null ? 'Drop a packed chart (.tgz) here' : upload.file.name}
        accept=".tgz,.tar.gz"
        onFile={choose}
        error={message}
        {...(description.isFetching && !isLate ? { description: 'The gateway reads the chart' } : {})}
      />
      <UploadWaiting what="The gateway reads the chart" isRunning={description.isFetching} atMost={RENDER_SECONDS} />
      {upload !== null && !tooLarge && description.isError && (
        <Button size="small" isPending={description.isFetching} onPress={() => void refetch()}>
          Try again
        </Button>
      )}
    </div>
  )
}

function refusalOf(error: unknown): string | null {
  if (error === null) return null
  const about = fieldErrors(error).get('file')
  return about ? about.map(({ message }) => message).join(' ') : describeError(error).detail
}

export function tooLargeText(file: File, bytesMax: number): string {
  const size = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`
  return `${file.name} has ${size(file.size)}. A chart may have at most ${size(bytesMax)}. Leave out what the chart does not need, then drop it again.`
}
