import { useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'

import { drafts } from '~/lib/drafts'

/** Returns how to forget what belongs to the person who was signed in: what the API told, and what was typed. */
export function useClearSession(): () => void {
  const client = useQueryClient()
  return useCallback(() => {
    client.clear()
    drafts.set(new Map())
  }, [client])
}
