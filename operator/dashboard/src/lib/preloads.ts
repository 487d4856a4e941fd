/** Files that the dashboard loads ahead in the background, so that pages and dialogs open while the gateway restarts. */

type Load = () => Promise<unknown>

const loads: Load[] = []

/** Adds files to load ahead. `load` must do nothing when they are loaded already. */
export function addPreload(load: Load): void {
  loads.push(load)
}

/** Loads all files that were added. Stops at the first failure: the gateway is away, and the caller tries again. */
export async function preloadAll(): Promise<void> {
  try {
    for (const load of loads) await load()
  } catch {
    // Who needs the file says that it could not be loaded.
  }
}
