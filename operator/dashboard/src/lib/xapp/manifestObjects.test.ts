import { describe, expect, it } from 'vitest'

import { manifestObjects } from '~/lib/xapp/manifestObjects'

describe('the objects of a manifest', () => {
  it('are cut at separators, with kind and name', () => {
    const objects = manifestObjects(
      [
        '---',
        '# Source: kpi/templates/service.yaml',
        'apiVersion: v1',
        'kind: Service',
        'metadata:',
        '  labels:',
        '    name: no',
        '  name: "kpi"',
        'spec: {}',
        '--- # next',
        'kind: ConfigMap',
        'metadata:',
        '  name: kpi # a remark',
        'data:',
        '  text: |',
        '    ---x',
        '---',
        '# nothing',
      ].join('\n'),
    )
    expect(objects.map(({ id }) => id)).toEqual(['Service/kpi', 'ConfigMap/kpi'])
    expect(objects[1]?.text).toContain('---x')
  })

  it('of the same name have ids of their own', () => {
    const text = 'kind: A\nmetadata:\n  name: x\n---\nkind: A\nmetadata:\n  name: x\n'
    expect(manifestObjects(text).map(({ id }) => id)).toEqual(['A/x', 'A/x#2'])
  })

  it('without kind or name are numbered', () => {
    expect(manifestObjects('a: 1\n---\nkind: B\nmetadata: {}\n').map(({ id }) => id)).toEqual(['Object/1', 'B/2'])
  })

  it.each([
    ['{name: y}', 'y'],
    ['{name: "y", labels: {name: no}}', 'y'],
    ["{labels: {name: no, 'name: x': a}, note: 'name: no',\n  name: 'y'} # name: z", 'y'],
    ['{labels: {name: no}}\nname: no', '1'],
  ])('have the name of metadata in braces: %s', (metadata, name) => {
    expect(manifestObjects(`kind: B\nmetadata: ${metadata}\n`)[0]?.name).toBe(name)
  })
})
