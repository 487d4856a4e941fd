import { curlCommand, kubectl } from '~/lib/commands'
import type { Query } from '~/lib/query'
import type { ServicesSearch } from '~/lib/routeSearch'
import type { Command } from '~/ui/CopyAs'

/** The commands that list the Services that a page shows. */
export function serviceCommands(search: ServicesSearch): { curl: string; kubectl: Command } {
  const { namespace, label, port, page, per_page } = search
  const query: Query = { namespace, label, port, search: search.search, page, per_page, pretty: true }
  const isOnlyLabels = port === '' && search.search === '' && namespace.length <= 1
  const place = namespace[0] === undefined ? ['--all-namespaces'] : ['-n', namespace[0]]
  const labels = label === '' ? [] : ['-l', label]
  return {
    curl: curlCommand({ method: 'GET', path: '/api/discovery/services', query }),
    kubectl: isOnlyLabels
      ? kubectl(['get', 'services', ...place, ...labels])
      : {
          none: 'kubectl cannot filter Services by name, port or several namespaces: use curl, or clear these filters.',
        },
  }
}
