import { describe, expect, it } from 'vitest'

import { rowReason } from './rowReason'

const reasonOf = (message: string | null, phase = 'Degraded', reason = 'HealthCheckFailed'): string =>
  rowReason({ phase, reason, message })

describe('rowReason', () => {
  it('begins with the container at fault, which a long name of a pod would push out of the row', () => {
    const message =
      'not healthy after 20s (spec.timeout): pod kpi-7d5-lfgs7: container xapp: CrashLoopBackOff (exit code 42)'
    expect(reasonOf(message)).toBe('container xapp: CrashLoopBackOff (exit code 42) (pod kpi-7d5-lfgs7)')
    expect(reasonOf('pod kpi-0: container xapp: OOMKilled')).toBe('container xapp: OOMKilled (pod kpi-0)')
  })

  it('leaves out the timeout that has passed: the phase and the page tell of it', () => {
    expect(reasonOf('not healthy after 5m0s (spec.timeout): Job once: BackoffLimitExceeded')).toBe(
      'Job once: BackoffLimitExceeded',
    )
  })

  it('begins with what pods are refused for, of which the names would fill the row', () => {
    const refused = 'Deployment acme-ran-one: FailedCreate: pods "acme-ran-one-6c8-x2v" is forbidden: '
    expect(
      reasonOf(`not healthy after 3s (spec.timeout): ${refused}violates PodSecurity "restricted:latest": a, b`),
    ).toBe('FailedCreate: violates PodSecurity "restricted:latest": a, b (Deployment acme-ran-one)')
    expect(reasonOf('ReplicaSet one: FailedCreate: pods is forbidden: exceeded quota: q')).toBe(
      'FailedCreate: exceeded quota: q (ReplicaSet one)',
    )
  })

  it('begins with what a template says of the values, which the place in the chart would push out of the row', () => {
    const refused = 'the chart refuses the values at hello/templates/x.yaml:1:3: '
    expect(reasonOf(`${refused}the E2 address is missing. Fix the values`, 'Failed', 'ValuesInvalid')).toBe(
      'the E2 address is missing (values refused at hello/templates/x.yaml:1:3)',
    )
    expect(reasonOf(`${refused}a: b\nc; d`, 'Failed', 'ValuesInvalid')).toBe(
      'a: b\nc; d (values refused at hello/templates/x.yaml:1:3)',
    )
  })

  it('says first that it was rolled back: the row calls the revision in force Healthy', () => {
    const advice = 'rolled back to revision 1; change spec, chart or values, or set the annotation retry-at'
    expect(reasonOf(`not healthy after 3s (spec.timeout): pod kpi-0: container xapp: OOMKilled; ${advice}`)).toBe(
      'Rolled back to revision 1: container xapp: OOMKilled (pod kpi-0)',
    )
    expect(reasonOf(`not healthy after 3s (spec.timeout): pod kpi-0: Unschedulable; ${advice}`)).toBe(
      'Rolled back to revision 1: pod kpi-0: Unschedulable',
    )
  })

  it('does not repeat of an xApp that goes what was said while it was suspended', () => {
    const suspended = 'suspended by spec.suspend: nothing is changed'
    expect(reasonOf(suspended, 'Uninstalling', 'Suspended')).toBe('')
    expect(reasonOf(suspended, 'Suspended', 'Suspended')).toBe(suspended)
    expect(reasonOf('waiting for 2 pods', 'Uninstalling', 'Progressing')).toBe('waiting for 2 pods')
  })

  it('leaves all other reasons as they are', () => {
    for (const message of ['pod kpi-0: Unschedulable', "the chart's schema refuses 1 value", '']) {
      expect(reasonOf(message)).toBe(message)
    }
    expect(reasonOf(null)).toBe('')
  })
})
