import { describe, expect, it } from 'vitest'

import { rowReason } from './rowReason'

describe('rowReason', () => {
  it('begins with the container at fault, which a long name of a pod would push out of the row', () => {
    const message =
      'not healthy within spec.timeout (20s): pod kpi-7d5-lfgs7: container xapp: CrashLoopBackOff (exit code 42)'
    expect(rowReason(message)).toBe('container xapp: CrashLoopBackOff (exit code 42) (pod kpi-7d5-lfgs7)')
    expect(rowReason('pod kpi-0: container xapp: OOMKilled')).toBe('container xapp: OOMKilled (pod kpi-0)')
  })

  it('leaves all other reasons as they are', () => {
    for (const message of ['pod kpi-0: Unschedulable', "the chart's schema refuses 1 value", '']) {
      expect(rowReason(message)).toBe(message)
    }
  })
})
