import { render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'

import { RadioGroup } from '~/ui/Choices'
import { ComboBox } from '~/ui/ComboBox'
import { NumberField } from '~/ui/NumberField'
import { Select } from '~/ui/Select'
import { TextField } from '~/ui/TextField'

const onChange = () => undefined
const items = [{ id: 'one', label: 'one' }]

it.each([
  [
    'textbox',
    (description?: string) => <TextField label="Field" value="" onChange={onChange} description={description} />,
  ],
  [
    'combobox',
    (description?: string) => (
      <ComboBox label="Field" items={items} value="" onChange={onChange} description={description} />
    ),
  ],
  [
    'textbox',
    (description?: string) => <NumberField label="Field" value={1} onChange={onChange} description={description} />,
  ],
  [
    'button',
    (description?: string) => (
      <Select label="Field" items={items} value="one" onChange={onChange} description={description} />
    ),
  ],
  [
    'radiogroup',
    (description?: string) => (
      <RadioGroup label="Field" items={items} value="one" onChange={onChange} description={description} />
    ),
  ],
])('connects a description that comes later with the %s', (role, field) => {
  const { rerender } = render(field())
  const described = () =>
    (screen.getByRole(role).getAttribute('aria-describedby') ?? '')
      .split(' ')
      .map((id) => document.getElementById(id)?.textContent ?? '')
      .join(' ')
  expect(described()).not.toContain('From')
  rerender(field('From 0.2.0-rc.1'))
  expect(described()).toContain('From 0.2.0-rc.1')
  rerender(field())
  expect(described()).not.toContain('From')
})
