import { fireEvent, render, screen } from '@testing-library/react'
import { useState, type ReactElement } from 'react'
import { expect, it } from 'vitest'

import { setDraft } from '~/lib/drafts'
import { preloadAll } from '~/lib/preloads'
import { lazyDialog, lazyPart } from '~/ui/lazyPart'

interface EditorProps {
  text: string
}

/** Loads a part whose file does not come for the first `failures` times. */
function loader<Props>(Part: (props: Props) => ReactElement, failures: number) {
  const loader = {
    asked: 0,
    load: (): Promise<typeof Part> => {
      loader.asked += 1
      return loader.asked > failures ? Promise.resolve(Part) : Promise.reject(new TypeError('Failed to fetch'))
    },
  }
  return loader
}

const Editor = ({ text }: EditorProps): ReactElement => <textarea aria-label="Values" defaultValue={text} />

it('shows Retry in place of a part whose file did not come, and asks for it again', async () => {
  const files = loader(Editor, 1)
  const LazyEditor = lazyPart('the editor', files.load)
  render(
    <>
      <input aria-label="Name" />
      <LazyEditor text="a: 1" />
    </>,
  )
  const typed: HTMLInputElement = screen.getByLabelText('Name')
  fireEvent.change(typed, { target: { value: 'hello' } })
  expect((await screen.findByRole('alert')).textContent).toContain('The gateway did not send the files of the editor.')
  fireEvent.click(screen.getByRole('button', { name: 'Retry' }))
  expect((await screen.findByLabelText<HTMLTextAreaElement>('Values')).value).toBe('a: 1')
  expect(screen.queryByRole('alert')).toBeNull()
  expect(screen.getByLabelText<HTMLInputElement>('Name')).toBe(typed)
  expect(typed.value).toBe('hello')
})

it('offers to load the dashboard again once Retry failed too, and says what is lost', async () => {
  const LazyEditor = lazyPart('the editor', loader(Editor, 2).load)
  setDraft('values:ric/hello', 'a: 1')
  render(<LazyEditor text="" />)
  const retry = await screen.findByRole('button', { name: 'Retry' })
  expect(screen.queryByText(/Load the dashboard again/)).toBeNull()
  fireEvent.click(retry)
  expect(await screen.findByRole('button', { name: 'Load the dashboard again' })).toBeDefined()
  expect(screen.getByText(/What you have typed and not sent is lost then/)).toBeDefined()
})

it('loads ahead what is small, and what failed, but nothing large', async () => {
  const small = loader(Editor, 0)
  const large = loader(Editor, 1)
  const SmallPart = lazyPart('the note', small.load)
  const LargePart = lazyPart('the editor', large.load, { isLarge: true })
  await preloadAll()
  expect([small.asked, large.asked]).toEqual([1, 0])
  render(<LargePart text="large" />)
  await screen.findByRole('alert')
  await preloadAll()
  expect(await screen.findByDisplayValue('large')).toBeDefined()
  render(<SmallPart text="small" />)
  expect(screen.getByDisplayValue('small')).toBeDefined()
})

it('does not tell a failure in the background', async () => {
  const files = loader(Editor, 1)
  const LazyEditor = lazyPart('the note', files.load)
  await preloadAll()
  expect(files.asked).toBe(1)
  render(<LazyEditor text="there" />)
  expect(screen.queryByRole('alert')).toBeNull()
  expect(await screen.findByDisplayValue('there')).toBeDefined()
})

function Page({ LazyKeys }: { LazyKeys: (props: { onClose: () => void }) => ReactElement }): ReactElement {
  const [isOpen, setOpen] = useState(true)
  return isOpen ? <LazyKeys onClose={() => setOpen(false)} /> : <button onClick={() => setOpen(true)}>Open</button>
}

const Keys = (): ReactElement => <div role="dialog">All keys</div>

it('shows Retry in a dialog that can be closed', async () => {
  const files = loader(Keys, 1)
  render(<Page LazyKeys={lazyDialog('Keys', files.load)} />)
  expect((await screen.findByRole('dialog', { name: 'Keys' })).textContent).toContain('did not send the files')
  fireEvent.click(screen.getByRole('button', { name: 'Close' }))
  expect(screen.queryByRole('dialog')).toBeNull()
  fireEvent.click(screen.getByRole('button', { name: 'Open' }))
  expect(await screen.findByText('All keys')).toBeDefined()
})
