/**
 * Returns the versions that contain what is typed. All of them once it is one of them, so that another one can be chosen
 * instead, and while none contains it: it may be a range.
 */
export function offeredVersions<V extends { version: string }>(versions: readonly V[], typed: string): readonly V[] {
  const found = versions.filter(({ version }) => version.includes(typed))
  return found.length === 0 || versions.some(({ version }) => version === typed) ? versions : found
}
