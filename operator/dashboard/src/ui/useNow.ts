import { useEffect, useState } from 'react'

/** Returns the time, and renders again every `milliseconds` while the page is visible. */
export function useNow(milliseconds: number): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const update = (): void => {
      if (!document.hidden) setNow(Date.now())
    }
    const timer = setInterval(update, milliseconds)
    document.addEventListener('visibilitychange', update)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', update)
    }
  }, [milliseconds])
  return now
}
