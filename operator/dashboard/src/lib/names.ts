/** The name that the gateway composes of the parts of an identity, as `domain/naming.py` does it. */

const NAME_MAX = 53
const PREFIX_LENGTH = 40
const HASH_DIGITS = 12

export function sanitise(text: string): string {
  return text
    .replace(/[A-Z]/g, (upper) => upper.toLowerCase())
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

export interface Identity {
  organization: string
  team: string
  xAppName: string
}

/** Null while a part is missing, or where this page cannot compute a hash (plain http from another machine). */
export async function composedName({ organization, team, xAppName }: Identity): Promise<string | null> {
  const parts = [organization, team, xAppName]
  if (parts.some((part) => sanitise(part) === '')) return null
  const full = sanitise(parts.join('-'))
  if (full.length <= NAME_MAX) return full
  if (!('subtle' in crypto)) return null
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(full)))
  const digits = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${full.slice(0, PREFIX_LENGTH)}-${digits.slice(0, HASH_DIGITS)}`
}
