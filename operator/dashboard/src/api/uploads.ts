/** Requests with files. They tell how much of them is sent, which `fetch` cannot. */

import { request } from '~/api/client'
import { createStore } from '~/lib/store'

/** The gateway ends a request whose body takes longer. No setting changes it. */
export const UPLOAD_SECONDS = 600

/** In bytes. */
export interface UploadProgress {
  sent: number
  total: number
}

/** The upload of this tab, until all of it is sent. */
export const uploading = createStore<UploadProgress | null>(null)

interface UploadInit {
  method: 'POST' | 'PUT'
  body: FormData
  headers?: Headers
  signal?: AbortSignal
}

/** Does the same as `request`, and notes in `uploading` how much is sent. */
export function upload(path: string, init: UploadInit): Promise<Response> {
  return request(path, init, { transport: (sent) => sendWithProgress(sent, init) })
}

function sendWithProgress({ url, method, headers }: Request, { body, signal }: UploadInit): Promise<Response> {
  const sending = new XMLHttpRequest()
  const end = (): void => signal?.removeEventListener('abort', abort)
  const abort = (): void => sending.abort()
  return new Promise<Response>((resolve, reject) => {
    const fail = (): void => reject(new TypeError('The upload was cut off.'))
    sending.open(method, url)
    headers.forEach((value, name) => {
      // The browser writes the one of this body, with its boundary.
      if (name !== 'content-type') sending.setRequestHeader(name, value)
    })
    sending.upload.onprogress = ({ loaded, total }) => uploading.set({ sent: loaded, total })
    sending.upload.onloadend = () => uploading.set(null)
    sending.onload = () => resolve(responseOf(sending))
    sending.onerror = fail
    sending.onabort = fail
    signal?.addEventListener('abort', abort)
    if (signal?.aborted === true) fail()
    else sending.send(body)
  }).finally(end)
}

function responseOf(received: XMLHttpRequest): Response {
  const headers = new Headers()
  for (const line of received
    .getAllResponseHeaders()
    .trim()
    .split(/[\r\n]+/)) {
    const at = line.indexOf(':')
    if (at > 0) headers.append(line.slice(0, at), line.slice(at + 1).trim())
  }
  const { status, statusText } = received
  return new Response(received.responseText, { status, statusText, headers })
}
