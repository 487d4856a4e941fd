/** The one worker of the pages, and the one Trusted Types policy, which allows the address of that worker and nothing else. */
import workerUrl from './worker?worker&url'

interface TrustedTypes {
  createPolicy: (
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ) => {
    createScriptURL: (url: string) => string
  }
}

function allowWorker(url: string): string {
  if (url !== workerUrl) throw new TypeError('This page allows no script but its worker.')
  return url
}

let createScriptURL: ((url: string) => string) | null = null

export function startWorker(): Worker {
  if (createScriptURL === null) {
    const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
    const policy = trustedTypes?.createPolicy('xapp-dashboard', { createScriptURL: allowWorker })
    createScriptURL = policy ? (url) => policy.createScriptURL(url) : allowWorker
  }
  return new Worker(createScriptURL(workerUrl), { type: 'module' })
}
