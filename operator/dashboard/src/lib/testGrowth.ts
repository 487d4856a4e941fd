const RUNS = 3

/** Between what a length and what a square of a length gives. */
export const GROWTH_MAX = 9

/**
 * Returns how many times as much of the processor the work on four times as much input takes: about 4 if it grows with
 * the length of the input, 16 if it grows with its square. Other programs on the machine take nothing of it.
 */
export function growthOfWork<T>(input: (size: number) => T, size: number, work: (input: T) => unknown): number {
  const [small, large] = [input(size), input(4 * size)]
  const least = (one: T): number => Math.min(...Array.from({ length: RUNS }, () => processorTime(() => work(one))))
  return least(large) / least(small)
}

function processorTime(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return user + system
}
