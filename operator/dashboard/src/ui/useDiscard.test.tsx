import { render, screen } from '@testing-library/react'
import { userEvent } from '@testing-library/user-event'
import { afterEach, expect, it } from 'vitest'

import { drafts, giveDraftsBack, setDraftsAside } from '~/lib/drafts'
import { DiscardButton, UndoDiscard } from '~/ui/DiscardButton'
import { useDiscard } from '~/ui/useDiscard'
import { useDraft } from '~/ui/useDraft'

afterEach(() => {
  giveDraftsBack('nobody')
  drafts.set(new Map())
})

function Form({ draftKey }: { draftKey: string }) {
  const draft = useDraft(draftKey, '')
  const { discard, undo, forget } = useDiscard({
    draftKey,
    isChanged: draft.isDirty,
    state: draft.value,
    discard: draft.discard,
    restore: draft.set,
  })
  const save = (): void => {
    draft.discard()
    forget()
  }
  return (
    <>
      <input value={draft.value} onChange={({ target }) => draft.set(target.value)} />
      <DiscardButton isChanged={draft.isDirty} isBusy={false} onDiscard={discard}>
        Discard
      </DiscardButton>
      <button onClick={save}>Save</button>
      <UndoDiscard undo={undo} />
    </>
  )
}

const field = () => screen.getByRole<HTMLInputElement>('textbox')
const undo = () => screen.queryByRole('button', { name: 'Undo' })
const press = (name: string) => userEvent.click(screen.getByRole('button', { name }))

it('gives back what was discarded, until something else is typed', async () => {
  render(<Form draftKey="form" />)
  expect(undo()).toBeNull()
  await userEvent.type(field(), 'long work')
  await press('Discard')
  expect(field().value).toBe('')
  expect(screen.getByRole('status').textContent).toBe('Discarded.')
  await press('Undo')
  expect(field().value).toBe('long work')
  expect(undo()).toBeNull()

  await press('Discard')
  await userEvent.type(field(), 'x')
  expect(undo()).toBeNull()
  await press('Save')
  expect(field().value).toBe('')
  expect(undo()).toBeNull()
})

it('offers it neither on another page nor to another user', async () => {
  const { rerender, unmount } = render(<Form draftKey="one" />)
  await userEvent.type(field(), 'of one')
  await press('Discard')
  rerender(<Form draftKey="two" />)
  expect(undo()).toBeNull()
  unmount()
  expect([...drafts.get().keys()]).toEqual([])

  render(<Form draftKey="one" />)
  await userEvent.type(field(), 'a secret of jane')
  await press('Discard')
  setDraftsAside('jane')
  giveDraftsBack('paul')
  expect(await screen.findByRole('group')).toHaveProperty('textContent', '')
})
