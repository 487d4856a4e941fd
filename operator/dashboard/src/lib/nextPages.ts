/** The pages of ours that show what a problem of the API names as requests that help (`next`). */

export interface NextRequest {
  method: string
  path: string
}

export interface NextPage {
  label: string
  path: string
}

/** Method and path of the API, the page instead of it, and its name; $1 stays as it is, encoded. */
const PAGES: readonly (readonly [RegExp, string, string])[] = [
  [/^GET \/api\/xapps$/, '/xapps', 'All xApps'],
  [/^POST \/api\/deployment\/xapp$/, '/deploy', 'Deploy an xApp'],
  [/^PUT \/api\/deployment\/xapp\/([^/{}]+\/[^/{}]+)$/, '/xapps/$1/upgrade', 'Upgrade'],
  [/^GET \/api\/xapps\/([^/{}]+\/[^/{}]+)\/health$/, '/xapps/$1', 'Health'],
  [/^GET \/api\/xapps\/([^/{}]+\/[^/{}]+)\/config$/, '/xapps/$1', 'Addresses'],
  [/^GET \/api\/xapps\/([^/{}]+\/[^/{}]+)\/logs$/, '/xapps/$1/logs', 'Logs'],
  [/^GET \/api\/xapps\/([^/{}]+\/[^/{}]+)\/history$/, '/xapps/$1/history', 'History'],
  [/^GET \/api\/repositories$/, '/repositories', 'All repositories'],
  [/^GET \/api\/repositories\/([^/{}]+\/[^/{}]+)\/charts$/, '/repositories/$1', 'Charts of the repository'],
  [/^GET \/api\/repositories\/([^/{}]+\/[^/{}]+)\/charts\/([^/{}]+)\/versions$/, '/repositories/$1/$2', 'Versions'],
]

/** Returns the pages for these requests. A request without a page is left out: it is for those who use the API. */
export function nextPages(requests: readonly NextRequest[]): NextPage[] {
  return requests.flatMap(({ method, path }) => {
    const request = `${method} ${path}`
    const known = PAGES.find(([pattern]) => pattern.test(request))
    return known === undefined ? [] : [{ label: known[2], path: request.replace(known[0], known[1]) }]
  })
}
