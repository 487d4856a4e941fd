import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { I18nProvider } from 'react-aria-components'

import { createQueryClient } from '~/api/queryClient'
import { followOtherTabs as followSessions } from '~/api/session'
import { createAppRouter } from '~/app/router'
import { followOtherTabs as followPreferences } from '~/lib/preferences'

import '~/styles/tokens.css'
import '~/styles/base.css'

followPreferences()
followSessions()
const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no element with the id root')
createRoot(root).render(
  <StrictMode>
    {/* The words and numbers of the pages are English, whatever the browser speaks. */}
    <I18nProvider locale="en-US">
      <QueryClientProvider client={createQueryClient()}>
        <RouterProvider router={createAppRouter()} />
      </QueryClientProvider>
    </I18nProvider>
  </StrictMode>,
)
