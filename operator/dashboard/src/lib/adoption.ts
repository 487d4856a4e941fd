/** Returns whether a message of the operator or the gateway tells to take over what exists already. */
export function asksToAdopt(message: string): boolean {
  return /\bset adopt: true\b/i.test(message)
}
