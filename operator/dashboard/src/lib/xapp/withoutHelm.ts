interface Known {
  source: 'xapp' | 'labels'
  release: { name: string | null }
}

/** Returns whether somebody made its objects without Helm: it has no release. */
export function isWithoutHelm({ source, release }: Known): boolean {
  return source === 'labels' && release.name === null
}

/** What its adoption does. */
export const ADOPTION_WITHOUT_HELM =
  'Its chart is installed, and takes over those of its objects that exist already. Others stay as they are: remove them by hand.'
