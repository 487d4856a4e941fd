import { act, renderHook } from '@testing-library/react'
import { expect, it, vi } from 'vitest'

import { useMediaQuery } from '~/ui/useMediaQuery'

it('reads a query once, however often it is rendered, and follows its changes', () => {
  const list = Object.assign(new EventTarget(), { matches: false })
  const read = vi.fn(() => list)
  vi.stubGlobal('matchMedia', read)
  const { result, rerender, unmount } = renderHook(() => useMediaQuery('(max-width: 1px)'))
  rerender()
  expect(result.current).toBe(false)
  act(() => {
    list.matches = true
    list.dispatchEvent(new Event('change'))
  })
  expect(result.current).toBe(true)
  unmount()
  expect(renderHook(() => useMediaQuery('(max-width: 1px)')).result.current).toBe(true)
  expect(read).toHaveBeenCalledOnce()
  vi.unstubAllGlobals()
})
