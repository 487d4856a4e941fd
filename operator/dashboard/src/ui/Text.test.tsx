import { render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'

import { MiddleText, Text } from '~/ui/Text'

it('isolates a text from its surroundings, and has the whole of a cut one as its tooltip', () => {
  render(<Text lines={2}>{'safe\u202egpj.exe'}</Text>)
  const text = screen.getByTitle(/^safe.*gpj\.exe$/)
  expect(text.tagName).toBe('BDI')
  expect(text.textContent).not.toContain('\u202e')
  expect(text.className).toContain('twoLines')
})

it('cuts a long name in its middle, and keeps the whole in its text and tooltip', () => {
  const name = 'acme-ran-traffic-steering-of-the-cells'
  render(<MiddleText>{name}</MiddleText>)
  const shown = screen.getByTitle(name)
  expect(shown.tagName).toBe('BDI')
  expect(shown.textContent).toBe(name)
  const [head, tail] = shown.children
  expect(head?.textContent).toBe(name)
  expect(tail?.getAttribute('data-text')).toBe('-the-cells')
})

it('keeps the end of short names that differ there only, and shortest ones whole', () => {
  const tailOf = (name: string) => {
    const { container } = render(<MiddleText>{name}</MiddleText>)
    return container.querySelector('[data-text]')?.getAttribute('data-text')
  }
  expect(tailOf('acme-ran-orphan')).toBe('rphan')
  expect(tailOf('acme-ran-orphan2')).toBe('rphan2')
  expect(tailOf('xapps-12')).toBeUndefined()
  // A flag is four units and one character: it stays whole.
  expect(tailOf('xapp-bern-\u{1f1e8}\u{1f1ed}')).toBe('rn-\u{1f1e8}\u{1f1ed}')
})
