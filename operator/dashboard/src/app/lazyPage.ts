import { lazyRouteComponent } from '@tanstack/react-router'

import { addPreload } from '~/lib/preloads'
import { NotLoaded } from '~/lib/problem'

/**
 * Returns a page that is loaded when it is opened.
 *
 * Unlike the router's own way, it never reloads the document when a file cannot be loaded: what was typed would be lost.
 */
export function lazyPage<M extends object, K extends keyof M & string>(load: () => Promise<M>, name: K) {
  const loadSafely = async (): Promise<M> => {
    try {
      return await load()
    } catch (cause) {
      throw new NotLoaded('this page', { cause })
    }
  }
  addPreload(loadSafely)
  return lazyRouteComponent<M, K>(loadSafely, name)
}
