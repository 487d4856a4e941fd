const KIB = 1024

/** Returns a number of bytes as a person reads it, for example "14 KiB" or "1.5 MiB". */
export function sizeText(bytes: number): string {
  return bytes < KIB * KIB ? `${Math.max(Math.round(bytes / KIB), 1)} KiB` : `${(bytes / KIB / KIB).toFixed(1)} MiB`
}
