/**
 * Returns an action for later that does nothing once another page is open.
 *
 * A page stays in view until the files of the next one have come. What it does by then to its address would bring the
 * reader back, and take the entry of the next page from the history.
 */
export function unlessLeft(action: () => void): () => void {
  const { pathname } = window.location
  return () => {
    if (window.location.pathname === pathname) action()
  }
}
