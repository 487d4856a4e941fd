/** The nonce under which the Content-Security-Policy of this page allows style elements; the gateway makes a new one for each answer. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
}
