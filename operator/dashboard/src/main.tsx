import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { I18nProvider } from 'react-aria-components'

import { createQueryClient } from '~/api/queryClient'
import { followOtherTabs as followSessions } from '~/api/session'
import { createAppRouter } from '~/app/router'
import { askBeforeUnload } from '~/app/unsentDrafts'
import { followOtherTabs as followPreferences } from '~/lib/preferences'
import { NotLoaded } from '~/lib/problem'

import '~/styles/tokens.css'
import '~/styles/base.css'

followPreferences()
followSessions()
askBeforeUnload()
const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no element with the id root')
createRoot(root, {
  // The page that stands in its place says it, and a load that leaving the page ends is no error at all.
  onCaughtError: (error) => {
    // eslint-disable-next-line no-console -- as React does by itself
    if (!(error instanceof NotLoaded)) console.error(error)
  },
}).render(
  <StrictMode>
    {/* The words and numbers of the pages are English, whatever the browser speaks. */}
    <I18nProvider locale="en-US">
      <QueryClientProvider client={createQueryClient()}>
        <RouterProvider router={createAppRouter()} />
      </QueryClientProvider>
    </I18nProvider>
  </StrictMode>,
)
