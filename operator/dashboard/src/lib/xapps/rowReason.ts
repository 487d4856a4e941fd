import { currentMessage, type Told } from '~/lib/xapp/currentMessage'

const POD_AT_FAULT = /^.*?\bpod (\S+): (container \S+: .+)$/s
const TEMPLATE_AT_FAULT = /^the chart refuses the values at (\S+:\d+:\d+): (.+?)(?:\. Fix the values)?$/s
const REFUSED_PODS = /^([A-Z][A-Za-z]+ \S+): (\w+): pods(?: "[^"]*")? is forbidden: ([^;]+)/
const TIMEOUT = /^not healthy after \S+ \(spec\.timeout\): /
const ROLLED_BACK = /^; (rolled back to revision \d+)/

/**
 * Returns why an xApp is not Ready with the cause first, because a row has room for two lines only; empty if nothing is
 * to be said. What was rolled back is said before its cause: the revision in force is well.
 */
export function rowReason(xapp: Told): string {
  const message = currentMessage(xapp) ?? ''
  const end = message.lastIndexOf('; rolled back to revision ')
  const [, rolledBack] = end === -1 ? [] : (ROLLED_BACK.exec(message.slice(end)) ?? [])
  if (rolledBack === undefined) return causeFirst(message)
  return `R${rolledBack.slice(1)}: ${causeFirst(message.slice(0, end))}`
}

function causeFirst(message: string): string {
  return message
    .replace(POD_AT_FAULT, '$2 (pod $1)')
    .replace(TEMPLATE_AT_FAULT, '$2 (values refused at $1)')
    .replace(TIMEOUT, '')
    .replace(REFUSED_PODS, '$2: $3 ($1)')
}
