/** What the gateway shows instead of a secret; sent back, it stands for that secret. */
export const MASK = '••••••'
