/** The XApp that a change is meant for. Another one of its name has another uid, and begins again with generation 1. */
export interface XAppVersion {
  uid: string
  /** Null: whatever its spec is by now. */
  generation: number | null
}

/** Returns the header without which a change would reach whatever has the name of the XApp by then. */
export function ifMatch({ uid, generation }: XAppVersion): { 'If-Match': string } {
  return { 'If-Match': generation === null ? `"${uid}"` : `"${uid}/${generation}"` }
}
