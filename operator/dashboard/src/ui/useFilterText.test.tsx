import { act, renderHook } from '@testing-library/react'
import { expect, it, vi } from 'vitest'

import { useFilterText } from '~/ui/useFilterText'

function render(applied: string) {
  const onApply = vi.fn()
  const hook = renderHook((props: { applied: string }) => useFilterText(props.applied, onApply), {
    initialProps: { applied },
  })
  const type = (text: string): void =>
    act(() => {
      hook.result.current.setText(text)
      hook.result.current.apply(text)
    })
  return { ...hook, onApply, type }
}

it('keeps what is typed while the address follows, blanks at the end too', () => {
  const { result, rerender, onApply, type } = render('')
  type('svc')
  type('svc ')
  type('svc 1')
  expect(onApply.mock.calls).toEqual([['svc'], ['svc 1']])
  rerender({ applied: 'svc' })
  expect(result.current.text).toBe('svc 1')
  rerender({ applied: 'svc 1' })
  expect(result.current.text).toBe('svc 1')
})

it('shows what comes from elsewhere', () => {
  const { result, rerender, type } = render('old')
  expect(result.current.text).toBe('old')
  type('new')
  rerender({ applied: 'new' })
  rerender({ applied: '' })
  expect(result.current.text).toBe('')
})

it('applies the text of the field once', () => {
  const { result, onApply } = render('')
  act(() => result.current.setText('app=ric'))
  act(() => result.current.apply())
  act(() => result.current.apply())
  expect(onApply).toHaveBeenCalledTimes(1)
})
