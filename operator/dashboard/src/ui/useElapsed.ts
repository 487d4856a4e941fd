import { useEffect, useState } from 'react'

/** Whole seconds since `isRunning` became true; 0 while it is not. */
export function useElapsed(isRunning: boolean): number {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    if (!isRunning) return undefined
    const startedAt = Date.now()
    const timer = setInterval(() => setSeconds(Math.floor((Date.now() - startedAt) / 1000)), 500)
    return () => {
      clearInterval(timer)
      setSeconds(0)
    }
  }, [isRunning])
  return isRunning ? seconds : 0
}
