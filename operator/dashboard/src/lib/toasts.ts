/** Short notes about something that worked: copied, accepted. Errors stand where they belong, never here. */

import { createStore } from '~/lib/store'

export interface Toast {
  id: number
  text: string
}

const SECONDS = 5
const MAX = 3
let lastId = 0

export const toasts = createStore<readonly Toast[]>([])

export function toast(text: string): void {
  const id = ++lastId
  toasts.set((current) => [...current, { id, text }].slice(-MAX))
  setTimeout(() => dismissToast(id), SECONDS * 1000)
}

export function dismissToast(id: number): void {
  toasts.set((current) => current.filter((each) => each.id !== id))
}
