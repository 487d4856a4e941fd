/** Which log the page shows. */

import type { LogOf } from '~/api/queries/xappDetails'
import type { LogsSearch } from '~/lib/routeSearch'
import { findCulprit } from '~/lib/xapp/cause'
import type { Pod } from '~/lib/xapp/types'

/** Lines of a log that come without a time. Few, because each may be long: a person can ask for more by a time. */
export const TAIL = 2_000

/** Returns the log that is shown unless one is chosen: of the container at fault, or else of the first ready pod. */
export function defaultLog(pods: readonly Pod[]): LogOf | null {
  const culprit = findCulprit(pods)
  if (culprit !== null) {
    return { pod: culprit.pod, container: culprit.container, previous: culprit.isPreviousRun }
  }
  const pod = pods.find(({ ready }) => ready) ?? pods[0]
  return pod === undefined ? null : { pod: pod.name, container: defaultContainer(pod), previous: false }
}

/** Returns the first container that is no init container; empty if the pod has none: then the gateway chooses. */
export function defaultContainer(pod: Pod): string {
  return (pod.containers.find(({ init }) => !init) ?? pod.containers[0])?.name ?? ''
}

/** Returns the log of the URL, with what it leaves open; `otherwise` if it names no pod. */
export function chosenLog(search: LogsSearch, pods: readonly Pod[], otherwise: LogOf | null): LogOf | null {
  if (search.pod === '') return otherwise
  const pod = pods.find(({ name }) => name === search.pod)
  const container = search.container !== '' || pod === undefined ? search.container : defaultContainer(pod)
  return { pod: search.pod, container, previous: search.previous }
}
