import { cleanup } from '@testing-library/react'
import { afterEach } from 'vitest'

// jsdom has no layout: no media query matches, as in a wide window with a mouse.
if (typeof window !== 'undefined') {
  Object.assign(window, { matchMedia: () => Object.assign(new EventTarget(), { matches: false }) })
}

afterEach(() => {
  cleanup()
})
