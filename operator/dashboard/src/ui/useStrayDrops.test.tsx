import { fireEvent, render, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'

import { FileDrop } from '~/ui/FileDrop'
import { useStrayDrops } from '~/ui/useStrayDrops'

const FILE = new File(['a'], 'a.tgz')
const onFile = vi.fn()

function Page() {
  useStrayDrops()
  return (
    <>
      <FileDrop label="Drop it here" accept=".tgz" onFile={onFile} />
      <p>beside</p>
      <div contentEditable="true" suppressContentEditableWarning>
        text
      </div>
    </>
  )
}

function dropped(text: string, types: readonly string[] = ['Files']): { isPrevented: boolean; effect: string } {
  const dataTransfer = { types, files: [FILE], dropEffect: 'copy' }
  const target = screen.getByText(text)
  const isOverPrevented = !fireEvent.dragOver(target, { dataTransfer })
  const isPrevented = !fireEvent.drop(target, { dataTransfer })
  expect(isOverPrevented).toBe(isPrevented)
  return { isPrevented, effect: dataTransfer.dropEffect }
}

it('keeps a file that is dropped beside its box from opening in place of the page', () => {
  const { unmount } = render(<Page />)
  expect(dropped('beside')).toEqual({ isPrevented: true, effect: 'none' })
  expect(onFile).not.toHaveBeenCalled()
  expect(dropped('Drop it here')).toEqual({ isPrevented: true, effect: 'copy' })
  expect(onFile).toHaveBeenCalledExactlyOnceWith(FILE)
  unmount()
  expect(!fireEvent.drop(document.body, { dataTransfer: { types: ['Files'] } })).toBe(false)
})

it('leaves texts that are dragged, and drops on a text that is edited', () => {
  render(<Page />)
  expect(dropped('beside', ['text/plain']).isPrevented).toBe(false)
  expect(dropped('text').isPrevented).toBe(false)
})
