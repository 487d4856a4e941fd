import { lazyRouteComponent } from '@tanstack/react-router'

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
      throw new Error('This page could not be loaded from the gateway.', { cause: error })
    }
  }
  preloads.push(loadSafely)
  return lazyRouteComponent<M, K>(loadSafely, name)
}

/** Loads all pages in the background, so that they open even while the gateway restarts or is upgraded. */
export async function preloadPages(): Promise<void> {
  for (const preload of preloads) {
    // What fails now is tried again when the page is opened.
    await preload().catch(() => undefined)
  }
}
