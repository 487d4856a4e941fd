/** The object that a change is meant for. Another one of its name has another uid, and begins again with generation 1. */
export interface ObjectVersion {
  uid: string
  /** Null: whatever its spec is by now. */
  generation: number | null
}

/** Returns the header without which a change would reach whatever has the name of the object by then. */
export function ifMatch({ uid, generation }: ObjectVersion): { 'If-Match': string } {
  return { 'If-Match': generation === null ? `"${uid}"` : `"${uid}/${generation}"` }
}
