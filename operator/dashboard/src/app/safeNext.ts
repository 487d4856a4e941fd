const PAGES = ['xapps', 'deploy', 'repositories', 'services', 'about']
const START = '/xapps'

/** Returns where to go after signing in: a page of ours with its query, or the start page. */
export function safeNext(next: string, origin: string): string {
  if (!next.startsWith('/') || next.startsWith('//') || next.includes('\\')) return START
  let url: URL
  try {
    url = new URL(next, origin)
  } catch {
    return START
  }
  const [, first = ''] = url.pathname.split('/')
  if (url.origin !== origin || !PAGES.includes(first)) return START
  return url.pathname + url.search
}
