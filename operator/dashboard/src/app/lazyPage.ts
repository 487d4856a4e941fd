import { lazyRouteComponent } from '@tanstack/react-router'

/** The files of a page could not be loaded: the gateway is away, or it is of another version by now. */
export class PageNotLoaded extends Error {}

const preloads: (() => Promise<unknown>)[] = []

/**
 * Returns a page that is loaded when it is opened.
 *
 * Unlike the router's own way, it never reloads the document when a file cannot be loaded: what was typed would be lost.
 */
export function lazyPage<M extends object, K extends keyof M & string>(load: () => Promise<M>, name: K) {
  const loadSafely = async (): Promise<M> => {
    try {
      return await load()
    } catch (error) {
      throw new PageNotLoaded('The gateway did not send the files of this page.', { cause: error })
    }
  }
  preloads.push(loadSafely)
  return lazyRouteComponent<M, K>(loadSafely, name)
}

/** Loads all pages in the background, so that they open even while the gateway restarts. Stops at the first failure. */
export async function preloadPages(): Promise<void> {
  try {
    for (const preload of preloads) await preload()
  } catch {
    // The gateway is away: the caller tries again when it is back.
  }
}
