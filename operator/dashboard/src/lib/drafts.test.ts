import { afterEach, describe, expect, it } from 'vitest'

import { discardDraft, drafts, giveDraftsBack, isAnythingUnsent, setDraft, setDraftsAside } from './drafts'

afterEach(() => {
  giveDraftsBack('nobody')
  drafts.set(new Map())
})

describe('what was typed before a sign-out', () => {
  it('comes back for the same user, once', () => {
    setDraft('deploy', 'typed by jane')
    setDraft('values', 'old')
    setDraftsAside('jane')
    expect(drafts.get().size).toBe(0)
    // The page may go to the sign-in page in more than one step.
    setDraftsAside(null)
    setDraft('values', 'typed since')
    giveDraftsBack('jane')
    expect([...drafts.get()]).toEqual([
      ['deploy', 'typed by jane'],
      ['values', 'typed since'],
    ])
    drafts.set(new Map())
    giveDraftsBack('jane')
    expect(drafts.get().size).toBe(0)
  })

  it('is never shown to another user, and gone after they signed in', () => {
    setDraft('deploy', 'typed by jane')
    setDraftsAside('jane')
    giveDraftsBack('paul')
    expect(drafts.get().size).toBe(0)
    giveDraftsBack('jane')
    expect(drafts.get().size).toBe(0)
  })

  it('is forgotten if it is not known who typed it', () => {
    setDraft('deploy', 'typed by somebody')
    setDraftsAside(null)
    giveDraftsBack('jane')
    expect(drafts.get().size).toBe(0)
  })
})

describe('what a reload would lose', () => {
  it('is any draft that differs from what is saved', () => {
    expect(isAnythingUnsent()).toBe(false)
    setDraft('values', { text: 'a: 2', base: 'a: 1' })
    expect(isAnythingUnsent()).toBe(true)
    setDraft('values', { text: 'a: 1', base: 'a: 1' }, false)
    expect(isAnythingUnsent()).toBe(false)
    setDraft('deploy', 'typed')
    expect(isAnythingUnsent()).toBe(true)
    discardDraft('deploy')
    expect(isAnythingUnsent()).toBe(false)
  })

  it('is the same after a sign-out and a sign-in', () => {
    setDraft('values', 'as saved', false)
    setDraftsAside('jane')
    giveDraftsBack('jane')
    expect(isAnythingUnsent()).toBe(false)
    setDraft('values', 'typed')
    setDraftsAside('jane')
    giveDraftsBack('jane')
    expect(isAnythingUnsent()).toBe(true)
  })
})
