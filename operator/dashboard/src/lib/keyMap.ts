/** All keys of the dashboard. Only the map of keys is loaded with their words, when it is opened. */

/** Keys as bindings write them, and what they do. */
export const KEY_MAP = {
  Go: {
    where: 'on every page',
    keys: {
      'Ctrl+k': 'Search or jump',
      '?': 'Show the keys',
      'g x': 'xApps Management',
      'g d': 'Deploy',
      'g r': 'Repositories',
      'g s': 'Services',
    },
  },
  Page: {
    where: 'where there is such a thing',
    keys: {
      '/': 'Search in this page',
      'Ctrl+Enter': 'Press the main button: Submit, Save, Preview, then Upgrade',
    },
  },
  List: {
    where: 'in the list of xApps',
    keys: { j: 'Next row', k: 'Previous row', x: 'Select the row', Enter: 'Open the row' },
  },
  xApp: {
    where: 'on the pages of one xApp',
    keys: {
      '[': 'Previous xApp of the list',
      ']': 'Next xApp of the list',
      1: 'Overview',
      2: 'Logs',
      3: 'Events',
      4: 'Values',
      5: 'History',
      6: 'Manifest',
      7: 'Notes',
      8: 'Own API',
      e: 'Edit values',
      u: 'Upgrade',
      l: 'Logs',
    },
  },
} as const

/** What the browser, dialogs and editors do with keys, without a binding. */
export const OTHER_KEYS = {
  Esc: 'Close a dialog or a menu',
  'Esc Tab': 'Leave an editor, where Tab indents',
} as const

type Keys<T> = T extends { keys: infer K } ? `${Extract<keyof K, string | number>}` : never

/** A key that a page may bind: it stands in the map. */
export type MappedKeys = Keys<(typeof KEY_MAP)[keyof typeof KEY_MAP]>
