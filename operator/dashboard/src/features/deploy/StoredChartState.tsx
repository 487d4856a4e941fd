import { Button } from '~/ui/Button'
import { Notice } from '~/ui/Notice'
import { ErrorText } from '~/ui/ProblemPanel'
import { Waiting } from '~/ui/Waiting'

import type { DeployDraft } from './deployDraft'
import { useStoredChart } from './useDeployForm'

/** Why the chart file of an uninstalled xApp is not in the form that deploys it again, if it is not. */
export function StoredChartState({ draft }: { draft: DeployDraft }) {
  const { data, error, isFetching, refetch } = useStoredChart(draft, 'upload')
  if (draft.storedChart === null || draft.upload !== null) return null
  if (error !== null) {
    return (
      <Notice
        tone="warn"
        title="The chart file that it had could not be read"
        actions={
          <Button size="small" isPending={isFetching} onPress={() => void refetch()}>
            Try again
          </Button>
        }
        isLive
      >
        <ErrorText error={error} />
        <p>Or choose the file below.</p>
      </Notice>
    )
  }
  if (data === null) {
    return (
      <Notice tone="warn" title="The chart file that it had is not stored any more" isLive>
        A stored chart goes with the last xApp that uses it. Choose the file below to deploy it again.
      </Notice>
    )
  }
  return <Waiting what="Reading the chart file that it had" isRunning={isFetching} />
}
