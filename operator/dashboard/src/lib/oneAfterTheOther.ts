/**
 * Returns a function that runs `work`, and runs it once more if it was called meanwhile.
 *
 * So each call is followed by a run that begins after it, however fast the calls come, and no run is cut short. After
 * a run the next one waits for `restMilliseconds`.
 */
export function oneAfterTheOther(work: () => Promise<unknown>, restMilliseconds = 0): () => void {
  let isRunning = false
  let isWanted = false
  const run = async (): Promise<void> => {
    isRunning = true
    while (isWanted) {
      isWanted = false
      await work().catch(() => undefined)
      if (restMilliseconds > 0) await new Promise((resolve) => setTimeout(resolve, restMilliseconds))
    }
    isRunning = false
  }
  return () => {
    isWanted = true
    if (!isRunning) void run()
  }
}
