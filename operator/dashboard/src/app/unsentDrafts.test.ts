// @vitest-environment jsdom
import { expect, it } from 'vitest'

import { askBeforeUnload } from '~/app/unsentDrafts'
import { discardDraft, drafts, giveDraftsBack, setDraft, setDraftsAside } from '~/lib/drafts'

function asks(): boolean {
  return !window.dispatchEvent(new Event('beforeunload', { cancelable: true }))
}

it('lets the browser ask as long as something typed would be lost, on whatever page', () => {
  askBeforeUnload()
  expect(asks()).toBe(false)
  setDraft('deploy', 'typed')
  setDraft('values', 'as saved', false)
  expect(asks()).toBe(true)
  discardDraft('deploy')
  expect(asks()).toBe(false)
  setDraft('discarded:deploy', 'typed', false)
  expect(asks()).toBe(false)
  setDraft('values', 'typed')
  expect(asks()).toBe(true)
  drafts.set(new Map())
  expect(asks()).toBe(false)
})

it.each(['jane', 'paul'])('asks also for what was set aside, until %s has signed in', (user) => {
  setDraft('values', 'typed')
  setDraftsAside('jane')
  expect(asks()).toBe(true)
  giveDraftsBack(user)
  expect(asks()).toBe(user === 'jane')
  drafts.set(new Map())
  expect(asks()).toBe(false)
})

it('asks for nothing after a sign-out if only what can be lost was set aside', () => {
  setDraft('values', 'as saved', false)
  setDraftsAside('jane')
  expect(asks()).toBe(false)
  giveDraftsBack('nobody')
})
