/** Runs `work` for each item, at most `width` at a time, and reports each result: null, or the error. */
export async function inBatches<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
  onResult: (item: T, error: unknown) => void,
): Promise<void> {
  const waiting = [...items]
  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      try {
        await work(item)
        onResult(item, null)
      } catch (error) {
        onResult(item, error)
      }
    }
  }
  await Promise.all(Array.from({ length: width }, worker))
}
