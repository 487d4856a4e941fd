import { useMutation, useQueryClient, type UseMutationResult } from '@tanstack/react-query'

import { actOnXApp, readAgainAfter, showRecord, type XAppActionName, type XAppRecord } from '~/api/queries/xappActions'
import { useOpenXApp } from '~/features/xapp/openXApp'
import { toast } from '~/lib/toasts'

const ACCEPTED: Readonly<Record<XAppActionName, string>> = {
  retry: 'Accepted: it is tried again',
  reconcile: 'Accepted: the operator looks again',
  force: 'Accepted: it is upgraded again',
  suspend: 'Accepted: it is being suspended',
  resume: 'Accepted: it is resumed',
  test: 'Accepted: the tests run',
}

/** Asks the operator to do something about the open xApp. */
export function useAct(): UseMutationResult<XAppRecord, Error, XAppActionName> {
  const { id, record: shown } = useOpenXApp()
  const client = useQueryClient()
  return useMutation({
    mutationFn: (action: XAppActionName) => actOnXApp(id, shown.uid, action),
    onSuccess: (record, action) => {
      showRecord(client, id, record)
      toast(ACCEPTED[action])
    },
    onError: (error) => readAgainAfter(client, id, error),
  })
}
