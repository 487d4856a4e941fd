import { useEffect, useState } from 'react'

/** Returns true once `flag` has been true for `milliseconds`; false at once when it ends. */
export function useDelayed(flag: boolean, milliseconds: number): boolean {
  const [late, setLate] = useState(false)
  useEffect(() => {
    if (!flag) return
    const timer = setTimeout(() => setLate(true), milliseconds)
    return () => {
      clearTimeout(timer)
      setLate(false)
    }
  }, [flag, milliseconds])
  return flag && late
}
