import { fireEvent, render, screen } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'

import { toasts } from '~/lib/toasts'
import { CopyButton } from '~/ui/CopyButton'

afterEach(() => {
  vi.unstubAllGlobals()
  toasts.set([])
})

it('says in its place when the browser refuses to copy, and in a toast only that it copied', async () => {
  const refuse = () => Promise.reject(new Error('not allowed'))
  vi.stubGlobal('navigator', { clipboard: { writeText: refuse } })
  Object.assign(document, { execCommand: () => false })
  render(<CopyButton text="sha256:3f9a" label="Copy the digest" />)
  fireEvent.click(screen.getByRole('button', { name: 'Copy the digest' }))
  expect((await screen.findByRole('alert')).textContent).toBe('Not copied: select the text and copy it')
  expect(toasts.get()).toEqual([])

  Object.assign(document, { execCommand: () => true })
  fireEvent.click(screen.getByRole('button', { name: 'Copy the digest' }))
  await vi.waitFor(() => expect(toasts.get()).toMatchObject([{ text: 'Copied' }]))
  expect(screen.queryByRole('alert')).toBeNull()
})
