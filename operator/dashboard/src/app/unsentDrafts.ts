import { drafts, isAnythingUnsent } from '~/lib/drafts'

/** Lets the browser ask before the tab is closed, reloaded or leaves the dashboard, while anything typed would be lost. */
export function askBeforeUnload(): void {
  drafts.subscribe(() => {
    // Not all the time: a page that listens is not kept for Back by some browsers.
    if (isAnythingUnsent()) window.addEventListener('beforeunload', ask)
    else window.removeEventListener('beforeunload', ask)
  })
}

function ask(event: BeforeUnloadEvent): void {
  event.preventDefault()
}
