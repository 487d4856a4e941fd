import { useEffect, useMemo, useRef, useState } from 'react'

import type { ChartFacts } from '~/lib/values/checkValues'

import { startWorker } from './trustedWorker'
import { ValuesChecker, type ValuesCheck } from './valuesChecker'

const PAUSE_MS = 200
const NOTHING: ValuesCheck = { problems: [], unchecked: null }

/** Checks a values file while it is written, a moment after the last key. */
export function useValuesCheck(text: string, chart: ChartFacts): ValuesCheck {
  const [check, setCheck] = useState(NOTHING)
  const checker = useRef<ValuesChecker>(null)
  const { defaultsText, schemaText, dependencies } = chart
  const names = dependencies.join(' ')
  const facts = useMemo(
    (): ChartFacts => ({ defaultsText, schemaText, dependencies: names === '' ? [] : names.split(' ') }),
    [defaultsText, schemaText, names],
  )
  useEffect(() => {
    const created = new ValuesChecker(startWorker, setCheck)
    checker.current = created
    return () => created.close()
  }, [])
  useEffect(() => checker.current?.setChart(facts), [facts])
  useEffect(() => {
    const timer = setTimeout(() => checker.current?.check(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [facts, text])
  return check
}
