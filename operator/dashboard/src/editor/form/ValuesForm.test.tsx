import { render, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { describe, expect, it, vi } from 'vitest'

import { formSchema } from '~/lib/schema/formSchema'
import type { ChartFacts } from '~/lib/values/checkValues'
import type { ValueObject } from '~/lib/values/value'
import { parseYaml } from '~/lib/values/yamlDocument'

import { formValidator } from './formValidator'
import { ValuesForm } from './ValuesForm'

const CHART: ChartFacts = {
  defaultsText:
    'image:\n  repository: registry/app\n  tag: "1"\nreplicas: 1\nid: 1\nhosts:\n  - a\nlabels: {}\non: true\n',
  schemaText: JSON.stringify({
    properties: {
      replicas: { type: 'integer', title: 'Replicas', description: 'How many pods run.' },
      level: { enum: ['debug', 'info'], default: 'info' },
      '<img src=x>': { type: 'string' },
    },
  }),
  dependencies: [],
}

function Page({ start, chart = CHART }: { start: string; chart?: ChartFacts }) {
  const [text, setText] = useState(start)
  return (
    <>
      <ValuesForm text={text} onChange={setText} chart={chart} problems={[]} />
      <pre data-testid="yaml">{text}</pre>
    </>
  )
}

function yaml(): string {
  return screen.getByTestId('yaml').textContent
}

describe('the form', () => {
  it('writes nothing by itself, and shows defaults as placeholders', () => {
    render(<Page start={'# mine\n'} />)
    expect(yaml()).toBe('# mine\n')
    const replicas = screen.getByRole('textbox', { name: /^Replicas/ })
    expect(replicas).toHaveProperty('value', '')
    expect(replicas.getAttribute('placeholder')).toBe('1 (default)')
  })

  it('shows what is merged over the defaults, and where that is from', () => {
    const layersBelow = [
      { from: 'chart', text: CHART.defaultsText },
      { from: 'Secret/site', text: 'replicas: 3\nlevel: debug\n' },
      { from: 'ConfigMap/hidden', text: null },
      { from: 'address', text: 'replicas: 5\nimage:\n  tag: "2"\n' },
    ]
    render(<ValuesForm text="" onChange={vi.fn()} chart={CHART} layersBelow={layersBelow} problems={[]} />)
    const placeholder = (name: RegExp) => screen.getByRole('textbox', { name }).getAttribute('placeholder')
    expect(placeholder(/^Replicas/)).toBe('5 (address)')
    expect(placeholder(/^tag/)).toBe('2 (address)')
    expect(placeholder(/^repository/)).toBe('registry/app (default)')
    expect(screen.getByRole('button', { name: /level/ }).textContent).toContain('debug (Secret/site)')
  })

  it('edits one value of the text, and removes it when the field is emptied', async () => {
    const user = userEvent.setup()
    render(<Page start={'# mine\nimage:\n  tag: "2" # why\n'} />)
    await user.type(screen.getByRole('textbox', { name: /^Replicas/ }), '3')
    expect(yaml()).toBe('# mine\nimage:\n  tag: "2" # why\nreplicas: 3\n')
    await user.clear(screen.getByRole('textbox', { name: /^tag/ }))
    expect(yaml()).toBe('# mine\nreplicas: 3\n')
  })

  it('keeps every digit of a 64-bit number', async () => {
    const user = userEvent.setup()
    render(<Page start={'id: 9007199254740993\n'} />)
    const field = screen.getByRole('textbox', { name: /^id/ })
    expect(field).toHaveProperty('value', '9007199254740993')
    await user.clear(field)
    await user.type(field, '9223372036854775807')
    expect(yaml()).toBe('id: 9223372036854775807\n')
  })

  it('keeps what is no number in the field, with a message, and out of the text', async () => {
    const user = userEvent.setup()
    render(<Page start="" />)
    const field = screen.getByRole('textbox', { name: /^Replicas/ })
    await user.type(field, '2x')
    expect(field).toHaveProperty('value', '2x')
    expect(screen.getByText('Must be a whole number.')).toBeTruthy()
    expect(yaml()).toBe('replicas: 2\n')
  })

  it('adds to lists and to objects with any keys, and removes', async () => {
    const user = userEvent.setup()
    render(<Page start={'hosts:\n  - a # first\n'} />)
    await user.click(screen.getByRole('button', { name: 'Add to hosts' }))
    expect(yaml()).toBe('hosts:\n  - a # first\n  - ""\n')
    const hosts = screen.getByRole('group', { name: 'hosts' })
    await user.click(within(hosts).getByRole('button', { name: 'Remove item 2' }))
    expect(yaml()).toBe('hosts:\n  - a # first\n')
    expect(document.activeElement).toBe(hosts)
  })

  it('shows the items below a list that is not written, and starts from them', async () => {
    const user = userEvent.setup()
    const chart = {
      ...CHART,
      defaultsText: 'config:\n  cells: [cell-1, cell-2]\nports: [9007199254740993]\nrooms: [a, b]\n',
      schemaText: JSON.stringify({ properties: { rooms: { type: 'array', items: { type: 'string' }, maxItems: 2 } } }),
    }
    render(<Page start={'# mine\n'} chart={chart} />)
    const cells = screen.getByRole('group', { name: 'cells' })
    expect(within(cells).getByText('2 items (default). What you add comes after them.')).toBeTruthy()
    expect(within(cells).getByText('cell-2')).toBeTruthy()
    expect(yaml()).toBe('# mine\n')
    await user.click(within(cells).getByRole('button', { name: 'Add to cells' }))
    await user.keyboard('cell-3')
    expect(parseYaml(yaml()).values).toEqual({ config: { cells: ['cell-1', 'cell-2', 'cell-3'] } })
    await user.click(screen.getByRole('button', { name: 'Add to ports' }))
    await user.keyboard('2')
    expect(parseYaml(yaml()).values).toMatchObject({ ports: [9007199254740993n, 2] })
    const rooms = screen.getByRole('group', { name: 'rooms' })
    expect(within(rooms).getByText('2 items (default). The list is full: change it in YAML.')).toBeTruthy()
    expect(within(rooms).queryByRole('button')).toBeNull()
  })

  it('says what an empty list replaces, and begins it from nothing', async () => {
    const user = userEvent.setup()
    render(<Page start={'hosts: []\n'} />)
    const hosts = screen.getByRole('group', { name: 'hosts' })
    expect(within(hosts).getByText('Empty: it replaces 1 item (default).')).toBeTruthy()
    await user.click(within(hosts).getByRole('button', { name: 'Add to hosts' }))
    expect(parseYaml(yaml()).values).toEqual({ hosts: [''] })
  })

  it('shows the items of a list as they are, whatever the schema says of them', async () => {
    const user = userEvent.setup()
    const chart = {
      defaultsText: 'free: []\n',
      schemaText: JSON.stringify({ properties: { tolerations: { type: 'array', items: { type: 'object' } } } }),
      dependencies: [],
    }
    const start = 'tolerations:\n  - key: a\n    seconds: 3\nfree:\n  - effect: b\n    deep: {x: 1}\n'
    render(<Page start={start} chart={chart} />)
    const tolerations = screen.getByRole('group', { name: 'tolerations' })
    expect(within(tolerations).getByRole('textbox', { name: 'key' })).toHaveProperty('value', 'a')
    expect(within(tolerations).getByRole('textbox', { name: 'seconds' })).toHaveProperty('value', '3')
    expect(screen.getByText('2 keys (effect, deep): edit them in YAML.')).toBeTruthy()
    await user.click(screen.getByRole('button', { name: 'Add to tolerations' }))
    expect(document.activeElement?.textContent).toBe('Add a key')
    await user.keyboard('{Enter}')
    await user.keyboard('operator{Tab}')
    expect(parseYaml(yaml()).values.tolerations).toMatchObject([
      { key: 'a' },
      { operator: expect.anything() as unknown },
    ])
  })

  it('shows no default of another list inside an item', () => {
    const chart = { ...CHART, defaultsText: 'hosts:\n  - name: a\n    port: 1\n', schemaText: null }
    render(<Page start={'hosts:\n  - name: b\n'} chart={chart} />)
    expect(screen.getByRole('textbox', { name: 'port' }).getAttribute('placeholder')).toBe(null)
  })

  it('says what of the chart is not visible, and never that the chart has none', () => {
    const nothing = { defaultsText: '', schemaText: null, dependencies: [] }
    const show = (chart: ChartFacts, unseen: string | null) => (
      <ValuesForm text="" onChange={vi.fn()} chart={chart} problems={[]} unseen={unseen} />
    )
    const { rerender } = render(show(nothing, 'Not visible: needs get secrets.'))
    expect(screen.getByText('Not visible: needs get secrets.')).toBeTruthy()
    expect(screen.queryByText(/neither a schema nor default values/)).toBeNull()
    rerender(show(CHART, 'The schema is not visible.'))
    expect(screen.getByText('The schema is not visible.')).toBeTruthy()
    expect(screen.getByRole('textbox', { name: /^Replicas/ })).toBeTruthy()
    rerender(show(nothing, null))
    expect(screen.getByText(/neither a schema nor default values/)).toBeTruthy()
  })

  it('says which line to correct when the text is no YAML', () => {
    render(<Page start={'a: [1\n'} />)
    expect(screen.getByRole('alert').textContent).toMatch(/^Line \d: /)
  })
  it('asks for the YAML where a schema, a text or the defaults would take for ever', () => {
    const next = (index: number) => ({ $ref: `#/definitions/d${index + 1}` })
    const definitions = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [
        `d${index}`,
        index === 39 ? {} : { allOf: [next(index), next(index)] },
      ]),
    )
    const schemaText = JSON.stringify({ properties: { a: next(0) }, definitions })
    const facts = { schemaText, defaultsText: 'a: &a\n  <<: *a\n', dependencies: [] }
    const { rerender } = render(<ValuesForm text="" onChange={vi.fn()} chart={facts} problems={[]} />)
    expect(screen.getByText('This schema is too large for a form: edit the YAML.')).toBeTruthy()
    rerender(<ValuesForm text={'b: 1\na: &a\n  <<: *a\n'} onChange={vi.fn()} chart={CHART} problems={[]} />)
    expect(screen.getByRole('alert').textContent).toMatch(/^Line 3: `\*a` stands inside/)
  })
})

describe('a branch', () => {
  const root = formSchema(
    {
      properties: {
        b: { oneOf: [{ type: 'array', contains: { pattern: '^(a+)+$' } }, { $ref: '#/definitions/name' }] },
      },
      definitions: {
        name: { required: ['name'], properties: { name: { $ref: '#/definitions/text' } } },
        text: { type: 'string' },
      },
    },
    {},
  )
  if ('refused' in root) throw new Error(root.refused)
  const { schema } = root

  it.each([
    [{ $ref: '#/definitions/name' }, { name: 'x' }, true],
    [{ $ref: '#/definitions/name' }, { name: 1 }, false],
    [{ allOf: [{ $ref: '#/definitions/name' }, { type: 'object' }] }, {}, false],
    [{ $ref: '#/definitions/none' }, {}, false],
  ])('%j fits %j: %j', (branch, value, fits) => {
    expect(formValidator.isValid(branch as object, value, schema as object)).toBe(fits)
  })

  it('runs no regular expression of the chart', () => {
    const [first] = ((schema.properties as ValueObject).b as ValueObject).oneOf as ValueObject[]
    expect(formValidator.isValid(first as object, [`${'a'.repeat(60)}!`], schema as object)).toBe(true)
  })
})
