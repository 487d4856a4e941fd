/** What each action of the API is called among the rights of the reader. */

import type { paths } from '~/api/client'
import type { Permission } from '~/lib/rights'

/** As the API names them: an action without words fails the type check. */
type Action = NonNullable<NonNullable<paths['/api/namespaces']['get']['parameters']['query']>['action']>

interface ActionWords {
  /** What the action is about. */
  about: string
  text: string
}

const ABOUT = {
  list: 'xApps',
  one: 'One xApp',
  changes: 'Changes of an xApp',
  api: 'The API of an xApp',
  repositories: 'Chart repositories',
  charts: 'Uploaded charts',
  services: 'Services',
}

/** In the order of the page. */
const WORDS: Readonly<Record<Action, ActionWords>> = {
  list: { about: ABOUT.list, text: 'List them' },
  deploy: { about: ABOUT.list, text: 'Deploy one' },
  listNamespaces: { about: ABOUT.list, text: 'See all namespaces in the form that deploys one' },
  createNamespace: { about: ABOUT.list, text: 'Deploy one into a new namespace' },
  adopt: { about: ABOUT.list, text: 'Adopt one that was installed by other means' },
  view: { about: ABOUT.one, text: 'Open its page' },
  logs: { about: ABOUT.one, text: 'Read the logs of its pods' },
  events: { about: ABOUT.one, text: 'See its events' },
  release: { about: ABOUT.one, text: 'See its manifest, notes, revisions and test results' },
  configure: { about: ABOUT.changes, text: 'Change its values' },
  upgrade: { about: ABOUT.changes, text: 'Upgrade it' },
  rollback: { about: ABOUT.changes, text: 'Roll it back to an earlier revision' },
  act: { about: ABOUT.changes, text: 'Retry, look again, suspend, resume, run its tests' },
  uninstall: { about: ABOUT.changes, text: 'Uninstall it' },
  proxy: { about: ABOUT.api, text: 'Read, such as its run-time configuration (GET)' },
  proxyUpdate: { about: ABOUT.api, text: 'Replace, such as its run-time configuration (PUT)' },
  proxyPatch: { about: ABOUT.api, text: 'Change parts (PATCH)' },
  proxyCreate: { about: ABOUT.api, text: 'Create (POST)' },
  proxyDelete: { about: ABOUT.api, text: 'Delete (DELETE)' },
  listRepositories: { about: ABOUT.repositories, text: 'List them' },
  viewRepository: { about: ABOUT.repositories, text: 'See one and browse its charts' },
  addRepository: { about: ABOUT.repositories, text: 'Add one' },
  storeCredentials: { about: ABOUT.repositories, text: 'Store credentials or certificates for one' },
  changeRepository: { about: ABOUT.repositories, text: 'Change one, read it again' },
  removeRepository: { about: ABOUT.repositories, text: 'Remove one' },
  upload: { about: ABOUT.charts, text: 'Upload a chart file' },
  listCharts: { about: ABOUT.charts, text: 'List them' },
  viewChart: { about: ABOUT.charts, text: 'See one' },
  deleteChart: { about: ABOUT.charts, text: 'Delete one' },
  listServices: { about: ABOUT.services, text: 'List them' },
}

const ORDER = Object.keys(WORDS)

/** Returns the words of an action; of one that a newer gateway has, its name in the API. */
export function wordsOf(action: string): ActionWords {
  return Object.hasOwn(WORDS, action) ? WORDS[action as Action] : { about: 'Other', text: action }
}

/** Returns the rights in the order of the page. */
export function inOrder(rights: readonly Permission[]): Permission[] {
  const place = ({ action }: Permission): number => {
    const index = ORDER.indexOf(action)
    return index < 0 ? ORDER.length : index
  }
  return rights.toSorted((one, other) => place(one) - place(other))
}
