const POD_AT_FAULT = /^.*?\bpod (\S+): (container \S+: .+)$/s

/** Returns why an xApp is not Ready with the cause first, because a row has room for two lines only. */
export function rowReason(message: string): string {
  return message.replace(POD_AT_FAULT, '$2 (pod $1)')
}
