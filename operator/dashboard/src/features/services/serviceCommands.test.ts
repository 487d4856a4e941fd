import { expect, it } from 'vitest'

import { serviceCommands } from '~/features/services/serviceCommands'

const ALL = { namespace: [], label: '', port: '', search: '', page: 1, per_page: 50 as const }

it('asks kubectl for the same Services, by namespace and label', () => {
  expect(serviceCommands(ALL).kubectl).toBe('kubectl get services --all-namespaces')
  const { curl, kubectl } = serviceCommands({ ...ALL, namespace: ['ric'], label: 'app in (a, b)' })
  expect(kubectl).toBe("kubectl get services -n ric -l 'app in (a, b)'")
  expect(curl).toContain('/api/discovery/services?namespace=ric&label=')
})

it.each([{ port: 'netconf' }, { search: 'e2' }, { namespace: ['a', 'b'] }])(
  'says that kubectl cannot do %j',
  (part) => {
    const { kubectl } = serviceCommands({ ...ALL, ...part })
    expect(typeof kubectl === 'string' ? kubectl : kubectl.none).toMatch(/^kubectl cannot filter/)
  },
)
